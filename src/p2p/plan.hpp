#pragma once

#include <cstdint>
#include <vector>

#include "core/measure.hpp"
#include "device/backend.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {

/// A test case on a back end: its cells, in the order in which they should be scheduled, and its result, shaped and
/// described but not yet measured.
struct Plan {
  std::vector<Cell> cells;
  MatrixResult result;
};

/// `bytes` is the size of bandwidth test cases; latency ones have their own. Throws BadInput, with the back end's
/// reason, where a test case cannot run there.
Plan make_plan(const TestCase& testcase, const Backend& backend, Kernel kernel, std::uint64_t bytes);

/// Why the test case cannot run on the back end; nothing if it can.
std::optional<std::string> why_not(const TestCase& testcase, const Backend& backend, Kernel kernel);

}  // namespace linkmatrix
