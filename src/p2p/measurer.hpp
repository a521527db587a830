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

/// What a run measures with: a back end inside one node, or the ranks of an MPI job.
class Measurer {
 public:
  virtual ~Measurer() = default;

  virtual Machine& machine() = 0;

  /// Why the test case cannot run here; nothing if it can.
  virtual std::optional<std::string> why_not(const TestCase& testcase, const PlanOptions& options) const = 0;

  /// Bytes of a copy or a message where the user says nothing.
  virtual std::uint64_t default_bytes(const TestCase& testcase) const = 0;

  /// Whether the test case has a size of its own, whatever the user says.
  virtual bool has_own_size(const TestCase& testcase) const = 0;

  /// Whether --memory says where all test cases have their data, and is no choice among them.
  virtual bool chooses_memory() const { return false; }

  /// The test case's result, shaped and described, not yet measured. Throws BadInput where it cannot run.
  virtual MatrixResult plan(const TestCase& testcase, const PlanOptions& options) = 0;

  /// Whether a transfer of what was planned last has the fault.
  virtual bool has(const SimulatedFault& fault, Concurrency concurrency) = 0;

  /// Measures what was planned last, whose result is the record's last. Throws as measure() does.
  virtual void measure(const MeasureOptions& how, Deadline deadline, Guarded<Record>& record) = 0;

  /// Keeps the devices busy for so many seconds, as Backend::heat.
  virtual std::vector<Heated> heat(double, std::optional<int> /*flips*/, Deadline) { return {}; }
};

struct ChosenMeasurer {
  std::unique_ptr<Measurer> measurer;
  std::string note;  ///< why this one, where the user left the choice; else empty
};

/// The back end that the options name, or the one that fits what is here. Throws BadInput where it was not built in.
ChosenMeasurer choose_measurer(const P2pOptions& options);

}  // namespace linkmatrix
