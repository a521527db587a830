#pragma once

#include <cstddef>
#include <vector>

#include "core/result.hpp"
#include "core/words.hpp"
#include "measure/rounds.hpp"

namespace linkmatrix {

/// Finds slow endpoints from few matchings. A permanent fault of an endpoint slows its cells with every partner.
///
/// - A cell is slow if it is worse than the median of its round by more than 2.5 % and by more than three standard
///   deviations (robust_sigma) of all cells.
/// - An endpoint has two ends: it sends and it receives. With bidirectional cells it has one.
/// - An end is settled as slow if random outliers would cause as many slow cells with a probability below
///   0.01 / (8 × number of ends). See binomial_tail().
/// - The rate of random outliers is estimated from the other ends.
class Suspicion {
 public:
  Suspicion(std::size_t endpoints, Metric metric);

  struct Value {
    CellIndex cell;
    double value;
  };

  /// Adds the cells of one concurrent round between nodes. They are compared with the median of this round.
  void add(const std::vector<Value>& values);
  /// Returns the slow cells of the last call of add(), in their order.
  const std::vector<CellIndex>& last_slow_cells() const { return last_slow_cells_; }
  /// Marks all later rounds as confirming: measured after the pause.
  void begin_confirmation() { confirms_ = true; }
  /// Ends the first rounds, in which one slow cell suffices to suspect an end. Later, two are needed.
  void end_of_first_rounds() { first_ = false; }

  /// Conclusions from all cells so far. Endpoints are given by index.
  struct State {
    std::vector<std::size_t> settled;   ///< slow endpoints, ascending
    std::vector<std::size_t> suspects;  ///< endpoints that need further partners; the most slow cells first
    std::vector<bool> good;             ///< by endpoint: whether it is not settled and has no unexplained slow cell
    std::vector<CellIndex> alone;       ///< slow cells without a settled or suspected endpoint
  };
  State state() const;

  /// Sets slow_endpoints, slow_rows and slow_columns of a result.
  void decide(Matchings& matchings) const;

  /// Returns the minimum deviation of a slow cell: |ln(value / median)|.
  double threshold() const;

 private:
  struct Observation {
    CellIndex cell;
    double deviation;         ///< ln(value / median), or its negative for latencies; negative: slow
    bool is_first, confirms;  ///< whether the round is one of the first, or confirming
  };
  struct End {
    std::size_t cells = 0, slow = 0;              ///< cells and slow cells without a settled end
    bool is_settled = false, is_watched = false;  ///< is_watched: has enough slow cells to be suspected
    /// Returns whether enough healthy cells end the suspicion.
    bool is_clear() const { return cells - slow >= 2 * slow + 2 || (slow <= 1 && cells - slow >= 2); }
  };
  struct Ends {
    std::size_t from, to;
  };
  Ends ends_of(const CellIndex& cell) const;
  std::vector<End> settled_ends(double limit) const;
  void count(std::vector<End>& ends, double limit) const;
  double random_outlier_rate(const std::vector<End>& ends) const;
  Matchings::SlowEndpoint describe(std::size_t endpoint, bool sends, bool receives, double limit) const;

  std::size_t endpoints_;
  Metric metric_;
  bool first_ = true, confirms_ = false;
  std::vector<Observation> observations_;
  std::vector<CellIndex> last_slow_cells_;
};

}  // namespace linkmatrix
