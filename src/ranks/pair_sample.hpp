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
  bool started_together = true;  ///< whether all pairs, and both directions, started together
};

/// Returns the sample of a cell from the times of its pairs. On one node, times are on its steady clock. Between two
/// nodes, times are durations since a common start. Latencies of several pairs are averaged.
PairSample sample_of(const Order& order, const Step& step, std::span<const PairTimes> pairs);

/// Returns the bytes of one transfer of all pairs of the cell; 0 for a latency.
double bytes_of(const Order& order);

/// Returns the transfers per pair between start and end of a sample. A round trip counts in both directions.
double transfers_of(const Order& order, const Step& step);

/// Maximum relative difference between the rates of two clocks.
constexpr double most_clock_disagreement = 0.05;

/// Detects pairs of ranks whose clocks run at different rates.
///
/// Both ranks time every step twice (StepTimes::own and around). By the order of messages, the interval `own` of one
/// rank always lies within the interval `around` of the other rank. If `own` is nevertheless longer than `around`, the
/// clocks run at different rates.
class ClockComparison {
 public:
  /// Adds a step with the times of each pair.
  void add(std::span<const PairTimes> pairs);

  /// Returns "clocks disagree: rank0 measured 0.00114 s, rank1 0.0113 s" for the pair with the largest median
  /// difference;
  /// "" if all clocks agree within most_clock_disagreement. pairs: in the order of add().
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
