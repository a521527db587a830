#pragma once

#include <cstddef>
#include <vector>

#include "core/words.hpp"
#include "measure/rounds.hpp"

namespace linkmatrix {

/// Which endpoints are slow by themselves, told from a few matchings: a lasting fault of an endpoint shows in every
/// cell of it, whoever its partners are, so that the number of endpoints enters through thresholds only.
///
/// A cell is slow where it is worse than the median of the cells that ran with it by half of the smallest loss that is
/// looked for, and by three times what cells differ. An endpoint has two ends, what it sends and what it receives; of
/// cells that measure both ways at once, one. An end is settled where so many of its cells are slow that flukes hardly
/// ever are as many: the share of flukes is that of the ends that are not at fault themselves.
class Suspicion {
 public:
  Suspicion(std::size_t endpoints, Metric metric);

  struct Value {
    Place place;
    double value;
  };

  /// Cells that ran at once, all between nodes, and are to be compared with each other.
  void add(const std::vector<Value>& values);
  /// Those of the cells added last that are slow, in their order.
  const std::vector<Place>& slow_of_last() const { return slow_of_last_; }
  /// From now on an end needs two slow cells to be looked at: in the first rounds one is enough.
  void end_of_first_rounds() { first_ = false; }

  /// What all cells until now amount to.
  struct Standing {
    std::vector<std::size_t> settled;   ///< endpoints with an end that is at fault, in their order
    std::vector<std::size_t> suspects;  ///< those that may be, and need another partner: the slowest first
    std::vector<bool> good;             ///< of each endpoint: every cell of it that nothing explains is healthy
    std::vector<Place> alone;           ///< slow cells of which neither end is settled or suspect: paths, or flukes
  };
  Standing standing() const;

  /// By how much a cell must be worse, as a logarithm.
  double threshold() const;

 private:
  struct Seen {
    Place place;
    double off;  ///< logarithm of value over median, below 0 is slow
    bool is_first;
  };
  struct End {
    std::size_t cells = 0, slow = 0;  ///< that no settled end explains
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

  std::size_t endpoints_;
  Metric metric_;
  bool first_ = true;
  std::vector<Seen> seen_;
  std::vector<Place> slow_of_last_;
};

}  // namespace linkmatrix
