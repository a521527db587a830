#pragma once

#include <cstddef>
#include <vector>

#include "core/result.hpp"
#include "core/words.hpp"
#include "measure/rounds.hpp"

namespace linkmatrix {

/// Finds slow endpoints from few matchings. A permanent fault of an endpoint slows all its cells, with any partner.
///
/// A cell is slow if it is worse than the median of its round by half of the smallest loss searched for, and by three
/// times the spread of the cells. An endpoint has two ends, sending and receiving; one end in bidirectional cells. An
/// end is settled as slow if random outliers would almost never cause as many slow cells. The rate of random outliers
/// is estimated from ends that are not slow.
class Suspicion {
 public:
  Suspicion(std::size_t endpoints, Metric metric);

  struct Value {
    Place place;
    double value;
  };

  /// Adds the cells of one concurrent round between nodes, which are compared with each other.
  void add(const std::vector<Value>& values);
  /// Returns the slow cells of the last round, in their order.
  const std::vector<Place>& slow_of_last() const { return slow_of_last_; }
  /// Begins the rounds after the pause, which confirm slow endpoints.
  void begin_confirmation() { confirms_ = true; }
  /// Ends the first rounds. Afterwards an end is suspected after two slow cells instead of one.
  void end_of_first_rounds() { first_ = false; }

  /// Result of all cells so far.
  struct Standing {
    std::vector<std::size_t> settled;   ///< slow endpoints, in their order
    std::vector<std::size_t> suspects;  ///< suspected endpoints that need further partners, the slowest first
    std::vector<bool> good;             ///< for each endpoint: whether all its unexplained cells are healthy
    std::vector<Place> alone;  ///< slow cells without a slow or suspected endpoint: slow paths or random outliers
  };
  Standing standing() const;

  /// Sets slow endpoints and slow cells of a result. Endpoints are in their order, cells in the order of time.
  void decide(Matchings& matchings) const;

  /// Returns the deviation of a slow cell, as a logarithm of the ratio.
  double threshold() const;

 private:
  struct Seen {
    Place place;
    double off;  ///< logarithm of value / median; negative: slow
    bool is_first, confirms;
  };
  struct End {
    std::size_t cells = 0, slow = 0;  ///< cells, and slow cells, that no settled end explains
    bool is_settled = false, is_watched = false;
    bool is_clear() const { return cells - slow >= 2 * slow + 2 || (slow <= 1 && cells - slow >= 2); }
  };
  struct Ends {
    std::size_t from, to;
  };
  Ends ends_of(const Place& place) const;
  std::vector<End> settled_ends(double limit) const;
  void count(std::vector<End>& ends, double limit) const;
  double share_of_flukes(const std::vector<End>& ends) const;
  Matchings::SlowEndpoint described(std::size_t endpoint, bool sends, bool receives, double limit) const;

  std::size_t endpoints_;
  Metric metric_;
  bool first_ = true, confirms_ = false;
  std::vector<Seen> seen_;
  std::vector<Place> slow_of_last_;
};

}  // namespace linkmatrix
