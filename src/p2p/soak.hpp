#pragma once

#include <functional>
#include <vector>

#include "core/guarded.hpp"
#include "p2p/measurer.hpp"

namespace linkmatrix {

/// A test case and how it was planned when it was measured first.
struct Soaked {
  TestCase testcase;
  PlanOptions plan;
  MatrixDescription shape;
};

/// How long a soak goes on, and how.
struct SoakOptions {
  double seconds = 0;  ///< 0: there is none
  double burst = 1;    ///< seconds that devices are heated between two matrices
  MeasureOptions measure{};
  std::function<void()> poll{};  ///< polls other processes, after each matrix; empty: nothing does
};

/// Measures the test cases again and again while the devices are heated, until the time is over; what each cell's
/// values were, and what happened when, grows in the record's `soak`. Throws as Measurer::measure and Measurer::heat
/// do; what was seen until then is in the record.
/// machine: of the measurer, perhaps with a simulated fault.
void soak(Measurer& measurer, Machine& machine, const std::vector<Soaked>& testcases, const SoakOptions& options,
          const std::optional<SimulatedFault>& fault, Deadline deadline, Guarded<Record>& record);

}  // namespace linkmatrix
