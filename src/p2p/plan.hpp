#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/copy_sampler.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {

/// Options of copies that a test case does not define.
struct PlanOptions {
  Kernel kernel = Kernel::noncached;
  std::uint64_t bytes = MiB;  ///< size of bandwidth test cases; latencies have fixed sizes
  bool may_shrink = false;  ///< whether `bytes` is a default that may be reduced when many copies share one host memory
  std::uint64_t offset = 0;                ///< offset of the data in the buffers
  int blocks = 0, threads = 0;             ///< launch shape of engine sm; 0: default of the back end
  bool triangle = false;                   ///< whether only pairs above the diagonal are measured
  bool local_copy = false;                 ///< whether the diagonal is measured: each device with itself
  HostPages host_pages{};                  ///< pages of host memory of the back end
  std::map<std::string, double> limits{};  ///< GB/s per direction and link class, instead of the built-in limits
};

/// Cells of a test case on a back end, and its result, described but not yet measured.
struct Plan {
  std::vector<CopyCell> cells;  ///< cells in scheduling order
  /// Rounds of a stress, whose cells run concurrently although they share resources. Empty: only cells without shared
  /// resources run concurrently.
  std::vector<Round> rounds;
  MatrixResult result;
};

/// Creates the plan of a test case. Throws BadInput, with the back end's reason, if it cannot run.
Plan make_plan(const TestCase& testcase, const Backend& backend, const PlanOptions& options);

/// Returns why the test case cannot run on the back end; nothing if it can.
std::optional<std::string> why_not(const TestCase& testcase, const Backend& backend, const PlanOptions& options);

}  // namespace linkmatrix
