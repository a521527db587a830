#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "p2p/testcases.hpp"

namespace linkmatrix {

/// Seconds that a run may take (--budget). A test case begins only where the longest so far would fit into what is
/// left, the first one in any case: a matrix is whole or not there.
class Budget {
 public:
  /// Nothing: there is no end to it.
  explicit Budget(std::optional<double> seconds)
      : seconds_{seconds.value_or(std::numeric_limits<double>::infinity())} {}

  bool has_room(double used) const { return first_ || used + longest_ <= seconds_; }
  void took(double seconds) { first_ = false, longest_ = std::max(seconds, longest_); }

 private:
  double seconds_, longest_ = 0;
  bool first_ = true;
};

/// Seconds after the budget until the run is ended whatever it waits for, where --timeout does not say: as long as a
/// round that hangs takes to be given up.
constexpr double time_beyond_budget = 30;

/// Those that tell most of a machine before the others, which stay in their order: every link one way, then the way to
/// the host and back, both ways at once, latencies.
std::vector<TestCase> most_telling_first(std::vector<TestCase> testcases);

}  // namespace linkmatrix
