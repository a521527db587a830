#pragma once

#include <functional>
#include <vector>

#include "core/guarded.hpp"
#include "p2p/measurer.hpp"

namespace linkmatrix {

/// A test case and the plan of its first measurement.
struct SoakTestCase {
  TestCase testcase;
  PlanOptions plan;
  MatrixDescription shape;
};

/// Options of a soak.
struct SoakOptions {
  double seconds = 0;  ///< duration in seconds; 0: no soak
  double burst = 1;    ///< duration of heating between two matrices in seconds
  MeasureOptions measure{};
  std::function<void()> poll{};  ///< called after each matrix to poll other processes; may be empty
};

/// Measures the test cases and heats the devices in turn, until the time is over. Writes statistics and events into
/// RecordHead::soak. machine: measurer.machine(), or a FaultyMachine around it. Throws as Measurer::measure and
/// Measurer::heat; the record keeps the results so far.
void soak(Measurer& measurer, Machine& machine, const std::vector<SoakTestCase>& testcases, const SoakOptions& options,
          const std::optional<SimulatedFault>& fault, Deadline deadline, Guarded<Record>& record);

}  // namespace linkmatrix
