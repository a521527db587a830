#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/copy_sampler.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {

/// How a test case's copies are made, where the test case leaves it open.
struct PlanOptions {
  Kernel kernel = Kernel::noncached;
  std::uint64_t bytes = MiB;    ///< of bandwidth test cases; latency ones have their own
  bool may_shrink = false;      ///< `bytes` is only a default, less will do where many copies share one host memory
  std::uint64_t offset = 0;     ///< where the bytes begin in the buffers
  int blocks = 0, threads = 0;  ///< launch shape of sm; 0: the back end's own
  bool triangle = false;        ///< of pairs, only those above the diagonal
  bool local_copy = false;      ///< of pairs, the diagonal too: each device with itself
  HostPages host_pages{};       ///< what the back end was told
  std::map<std::string, double> limits{};  ///< GB/s of one direction by link class, in place of the known ones
};

/// A test case on a back end: its cells, and its result, shaped and described but not yet measured.
struct Plan {
  std::vector<CopyCell> cells;  ///< in the order in which they should be scheduled
  /// Cells that run at once whatever they share: a stress. Empty: those that share nothing do.
  std::vector<Round> rounds;
  MatrixResult result;
};

/// Throws BadInput, with the back end's reason, where a test case cannot run there.
Plan make_plan(const TestCase& testcase, const Backend& backend, const PlanOptions& options);

/// Why the test case cannot run on the back end; nothing if it can.
std::optional<std::string> why_not(const TestCase& testcase, const Backend& backend, const PlanOptions& options);

}  // namespace linkmatrix
