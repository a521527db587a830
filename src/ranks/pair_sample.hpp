#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/sampler.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Times of both ranks of a pair in one step.
struct PairTimes {
  StepTimes source, destination;
};

/// One sample of a cell.
struct PairSample {
  Sample sample;
  bool started_together = true;  ///< for several pairs, and for two independent directions
};

/// Returns the sample of a cell from the times of its pairs. Ranks of one node share a steady clock; for two nodes each
/// time is a duration after a common start. For latencies of several pairs, returns the mean.
PairSample sample_of(const Order& order, const Step& step, std::span<const PairTimes> pairs);

/// Returns the bytes of one transfer of all pairs of the cell; 0 for a latency.
double bytes_of(const Order& order);

/// Returns the transfers per pair between start and end of a sample. A round trip counts in both directions.
double transfers_of(const Order& order, const Step& step);

/// Maximum fraction by which one clock may count more than the other.
constexpr double most_clock_disagreement = 0.05;

/// Compares the clocks of the two ranks of each pair of a cell.
///
/// Both ranks time every step twice (StepTimes). The `own` time of one rank lies within the `around` time of the other
/// rank, however long a message takes or a rank waits for its core. If a rank measures a longer `own` time than the
/// `around` time of the other rank, their clocks run at different rates.
class ClockComparison {
 public:
  /// Adds a step. The pairs are in the order of the cell's order.
  void add(std::span<const PairTimes> pairs);

  /// Returns "clocks disagree: rank0 measured 0.00114 s, rank1 0.0113 s" for the worst pair, by the median of its
  /// steps. Returns "" if all clocks agree.
  std::string disagreement(std::span<const RankPair> pairs) const;

 private:
  struct Step {
    double ratio = 0;  ///< longer own time divided by the other rank's time
    double source = 0, destination = 0;
  };
  static Step step_of(const PairTimes& pair);

  std::vector<std::vector<Step>> steps_;  ///< by pair
};

}  // namespace linkmatrix::ranks
