#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/copy_sampler.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {

/// Properties of copies that options define, not the test case.
struct PlanOptions {
  Kernel kernel = Kernel::noncached;
  std::uint64_t bytes = MiB;               ///< size of bandwidth test cases; latencies have fixed sizes
  bool may_shrink = false;                 ///< whether `bytes` is a default, which slow test cases may reduce
  std::uint64_t offset = 0;                ///< offset of the data in the buffers
  int blocks = 0, threads = 0;             ///< launch shape of engine sm; 0: default of the back end
  bool triangle = false;                   ///< whether only pairs above the diagonal are measured
  bool local_copy = false;                 ///< whether the diagonal is measured: each device with itself
  HostPages host_pages{};                  ///< pages of host memory of the back end
  std::map<std::string, double> limits{};  ///< --limit: GB/s per direction by link class
};

/// The cells of a test case on a back end.
struct Plan {
  std::vector<CopyCell> cells;  ///< cells in scheduling order
  /// Rounds of a stress, whose cells share resources. Empty: cells are packed into rounds without shared resources.
  std::vector<Round> rounds;
  MatrixResult result;  ///< described but not yet measured
};

/// Creates the plan of a test case. Throws BadInput, with the back end's reason, if it cannot run.
Plan make_plan(const TestCase& testcase, const Backend& backend, const PlanOptions& options);

/// Returns why the test case cannot run on the back end; nothing if it can.
std::optional<std::string> why_not(const TestCase& testcase, const Backend& backend, const PlanOptions& options);

}  // namespace linkmatrix
