#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/sampler.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// What both ranks of a pair say of a step.
struct PairTimes {
  StepTimes source, destination;
};

/// One sample of a cell.
struct PairSample {
  Sample sample;
  bool started_together = true;  ///< several pairs, and two directions that do not wait for each other
};

/// The sample that the times of a cell's pairs make. What ranks of one node say lies on its steady clock; of two nodes,
/// whose clocks differ, each one's is a duration after a common start. Of latencies of several pairs it is the mean.
PairSample sample_of(const Order& order, const Step& step, std::span<const PairTimes> pairs);

/// Bytes of one transfer of all the cell's pairs together; 0 for a latency.
double bytes_of(const Order& order);

/// Transfers of each pair between the start and the end of a sample: of round trips, both ways.
double transfers_of(const Order& order, const Step& step);

/// Two clocks disagree if one counts more than this share more than the other.
constexpr double most_clock_disagreement = 0.05;

/// Compares the clocks of the two ranks of each pair of a cell.
///
/// Both ranks time every step twice (StepTimes). The `own` seconds of one rank pass while the `around` seconds of the
/// other pass, however long a message takes or a rank waits for its core. If a rank counts more `own` seconds than the
/// other rank counts `around` seconds, their clocks run at different rates.
class ClockComparison {
 public:
  /// Adds a step. The pairs are the cell's, in the order of its order.
  void add(std::span<const PairTimes> pairs);

  /// "clocks disagree: rank0 measured 0.00114 s, rank1 0.0113 s" for the worst pair, by the median of its steps; empty
  /// if all clocks agree.
  std::string disagreement(std::span<const RankPair> pairs) const;

 private:
  struct Step {
    double ratio = 0;  ///< seconds of the rank that counted more than it can over those of the other
    double source = 0, destination = 0;
  };
  static Step step_of(const PairTimes& pair);

  std::vector<std::vector<Step>> steps_;  ///< by pair
};

}  // namespace linkmatrix::ranks
