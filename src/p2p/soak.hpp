#pragma once

#include <functional>
#include <vector>

#include "core/guarded.hpp"
#include "p2p/measurer.hpp"

namespace linkmatrix {

/// A test case and the plan of its first measurement.
struct Soaked {
  TestCase testcase;
  PlanOptions plan;
  MatrixDescription shape;
};

/// Options of a soak.
struct SoakOptions {
  double seconds = 0;  ///< duration in seconds; 0: no soak
  double burst = 1;    ///< seconds of heating between two matrices
  MeasureOptions measure{};
  std::function<void()> poll{};  ///< polls other processes after each matrix; may be empty
};

/// Repeats the test cases while the devices are heated, until the time is over. Values and events go into the record's
/// `soak`. Throws as Measurer::measure and Measurer::heat; the record then has the results so far. machine: machine of
/// the measurer, possibly with a simulated fault.
void soak(Measurer& measurer, Machine& machine, const std::vector<Soaked>& testcases, const SoakOptions& options,
          const std::optional<SimulatedFault>& fault, Deadline deadline, Guarded<Record>& record);

}  // namespace linkmatrix
