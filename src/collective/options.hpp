#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collective/testcases.hpp"
#include "measure/engine.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {

/// What the command line of collective_perf asked for.
struct CollectiveOptions : ProgramOptions {
  std::vector<CollectiveTestCase> named;  ///< --testcase
  std::optional<std::string> suite;       ///< --suite
  std::vector<std::uint64_t> sizes;       ///< empty: the back end's own
  CollectiveCase form;                    ///< type, reduction, root and the like of every case
  std::vector<int> devices;               ///< empty: all
  Memory memory = Memory::device;         ///< of ranks
  bool huge_pages = true;                 ///< of host memory
};

/// Throws BadInput.
CollectiveOptions parse_collective_options(std::span<char* const> arguments);

/// What a run is of, as far as it decides which options mean something to it.
struct CollectiveScope {
  bool has_ranks = false;
  Memory memory = Memory::device;
  bool any_reduces = false, any_has_root = false;
};

/// Throws BadInput for the first option that was given and does nothing in such a run, with the reason.
void refuse_unused(const CollectiveOptions& options, const CollectiveScope& run);

std::string collective_help();

}  // namespace linkmatrix
