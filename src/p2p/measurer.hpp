#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/guarded.hpp"
#include "core/heating.hpp"
#include "core/machine.hpp"
#include "core/result.hpp"
#include "measure/engine.hpp"
#include "measure/simulated_fault.hpp"
#include "p2p/options.hpp"
#include "p2p/plan.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {

/// Plans and measures test cases: with a back end in one process, or with the ranks of an MPI job.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual Machine& machine() = 0;

  /// Returns one sentence on why the test case cannot run here; nothing if it can.
  virtual std::optional<std::string> why_not(const TestCase& testcase, const PlanOptions& options) const = 0;

  /// Returns the default size of a copy or message in bytes.
  virtual std::uint64_t default_bytes(const TestCase& testcase) const = 0;

  /// Returns whether the test case has a fixed size.
  virtual bool has_fixed_size(const TestCase& testcase) const = 0;

  /// Returns whether --memory sets the memory of all test cases. Otherwise --memory selects test cases.
  virtual bool chooses_memory() const { return false; }

  /// Plans a test case and returns its result, described but not yet measured. Throws BadInput if it cannot run.
  virtual MatrixResult plan(const TestCase& testcase, const PlanOptions& options) = 0;

  /// Returns whether the fault changes a transfer of the last planned test case.
  virtual bool is_affected_by(const SimulatedFault& fault, Concurrency concurrency) = 0;

  /// Measures the last planned test case. The caller has added its result to the record. Throws as measure().
  virtual void measure(const MeasureOptions& how, Deadline deadline, Guarded<Record>& record) = 0;

  /// Heats the devices for some seconds, as Backend::heat.
  virtual std::vector<Heated> heat(double, std::optional<int> /*flips*/, Deadline) { return {}; }
};

struct ChosenMeasurer {
  std::unique_ptr<Measurer> measurer;
  std::string note;  ///< why no GPU was chosen automatically; else empty
};

/// Creates the measurer for --backend, or for this machine. Throws BadInput if this build lacks the back end.
ChosenMeasurer choose_measurer(const P2pOptions& options);

}  // namespace linkmatrix
