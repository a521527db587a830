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

/// The command line of collective_perf.
struct CollectiveOptions : ProgramOptions {
  std::vector<CollectiveTestCase> named;  ///< --testcase
  std::optional<std::string> suite;       ///< --suite
  std::vector<std::uint64_t> sizes;       ///< empty: defaults
  CollectiveCase form;                    ///< template of all cases: type, reduction, root …
  std::vector<int> devices;               ///< empty: all
  Memory memory = Memory::device;         ///< memory of ranks
  bool huge_pages = true;                 ///< whether host memory uses pages of 2 MiB
};

/// Parses the command line. Throws BadInput.
CollectiveOptions parse_collective_options(std::span<char* const> arguments);

/// Properties of a run that determine which options have an effect.
struct CollectiveScope {
  bool has_ranks = false;
  Memory memory = Memory::device;
  bool any_reduces = false, any_has_root = false;
};

/// Throws BadInput for the first given option that has no effect in the run.
void refuse_unused(const CollectiveOptions& options, const CollectiveScope& run);

std::string collective_help();

}  // namespace linkmatrix
