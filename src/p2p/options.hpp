#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.hpp"
#include "device/host/memory.hpp"
#include "measure/engine.hpp"
#include "p2p/plan.hpp"
#include "p2p/testcases.hpp"
#include "program/program_run.hpp"
#include "ranks/options.hpp"

namespace linkmatrix {

/// Properties of a run that determine which options have an effect.
struct RunScope {
  std::string_view backend{};             ///< "cuda", "host", "mpi" …; empty: the run only prints a table
  std::span<const TestCase> testcases{};  ///< measured test cases
};

/// The command line of p2p_matrix.
struct P2pOptions : ProgramOptions {
  bool topology = false;             ///< print the topology without measuring
  bool list_as_json = false;         ///< --format json
  std::vector<TestCase> named;       ///< --testcase
  std::optional<std::string> suite;  ///< --suite
  Axes axes;
  PlanOptions plan;                  ///< options of every test case; `sizes` and `blocks` set its bytes and blocks
  std::vector<std::uint64_t> sizes;  ///< empty: default of the back end
  std::vector<int> blocks;           ///< empty: default of the back end
  bool sweep = false;                ///< whether each test case ends with a fit over all sizes
  bool utilisation = false;          ///< whether to print each value as a share of its limit
  std::vector<int> devices;          ///< empty: all
  HostMemoryKind host_memory;
  ranks::NetworkOptions ranks;         ///< options that apply only to ranks
  double soak = 0;                     ///< duration of the soak in seconds; 0: none
  std::optional<double> budget;        ///< time budget in seconds
  std::optional<std::string> backend;  ///< nothing: automatic
  std::string references;              ///< file of references; empty: none
};

/// Parses the command line. Throws BadInput.
P2pOptions parse_p2p_options(std::span<char* const> arguments);

/// Throws BadInput for the first given option that has no effect in the run. Call it before the first measurement.
void refuse_unused(const P2pOptions& options, const RunScope& run);

/// Throws BadInput for options that contradict each other. Derives time limits that were not given.
void complete(P2pOptions& options);

std::string p2p_help();

// Parsers of option values. All throw BadInput naming the option.

/// Parses limits in GB/s per link class: "NV18=450,HOST=55".
std::map<std::string, double> parse_limits(std::string_view text);

/// Parses an engine of copies: ce, sm or mpi.
Engine parse_engine(std::string_view text);

/// Parses "90s", "30m" or "8h"; without a unit, seconds. Returns seconds.
double parse_duration(std::string_view option, std::string_view text);

/// Parses the number of threads per block.
int parse_threads(std::string_view text);

}  // namespace linkmatrix
