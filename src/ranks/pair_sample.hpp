#pragma once

#include <cstdint>
#include <span>

#include "measure/sample.hpp"
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

}  // namespace linkmatrix::ranks
