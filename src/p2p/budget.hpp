#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "p2p/testcases.hpp"

namespace linkmatrix {

/// Time budget of a run (--budget). A test case starts only if the longest one so far would fit into the rest of the
/// budget; the first always starts. A matrix is therefore complete or absent.
class Budget {
 public:
  /// seconds: the budget; nothing: unlimited.
  explicit Budget(std::optional<double> seconds)
      : seconds_{seconds.value_or(std::numeric_limits<double>::infinity())} {}

  bool has_room(double used) const { return first_ || used + longest_ <= seconds_; }
  void took(double seconds) { first_ = false, longest_ = std::max(seconds, longest_); }

 private:
  double seconds_, longest_ = 0;
  bool first_ = true;
};

/// Seconds after the budget at which the run is ended, without --timeout: the time limit of a round that hangs.
constexpr double time_beyond_budget = 30;

/// Returns the test cases with the most informative first: all links in one direction, paths to and from host memory,
/// bidirectional copies, latencies. The others keep their order.
std::vector<TestCase> most_telling_first(std::vector<TestCase> testcases);

}  // namespace linkmatrix
