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

/// What a run does, as far as it decides which options mean something to it.
struct RunScope {
  std::string_view backend{};             ///< "cuda", "host", "mpi" …; empty: only a table of the program is printed
  std::span<const TestCase> testcases{};  ///< that are measured; empty: none
};

/// What the command line asked for.
struct P2pOptions : ProgramOptions {
  bool topology = false;             ///< print the topology, measure nothing
  bool list_as_json = false;         ///< --format json
  std::vector<TestCase> named;       ///< --testcase
  std::optional<std::string> suite;  ///< --suite
  Axes axes;
  PlanOptions plan;                  ///< of every test case; its bytes and blocks come from the next two
  std::vector<std::uint64_t> sizes;  ///< empty: the back end's default
  std::vector<int> blocks;           ///< empty: the back end's own
  bool sweep = false;                ///< a fit over all sizes ends each test case
  bool utilisation = false;          ///< print each value's share of its limit too
  std::vector<int> devices;          ///< empty: all
  HostMemoryKind host_memory;
  ranks::NetworkOptions ranks;         ///< what is said of ranks; the rest comes from the other options
  double soak = 0;                     ///< seconds that all is measured again while devices are heated; 0: not
  std::optional<double> budget;        ///< seconds after which no further test case begins
  std::optional<std::string> backend;  ///< nothing: chosen from what is here
  std::string references;              ///< a file of them; empty: none are known
};

/// Throws BadInput.
P2pOptions parse_p2p_options(std::span<char* const> arguments);

/// Throws BadInput for the first option that was given and does nothing in such a run, with the reason and the remedy:
/// whoever gave it expects something that does not happen. To be called when it is known what is measured, and before
/// anything is.
void refuse_unused(const P2pOptions& options, const RunScope& run);

std::string p2p_help();

/// What may follow single options of p2p_matrix; all throw BadInput naming the option.

/// "NV18=450,HOST=55".
std::map<std::string, double> parse_limits(std::string_view text);

/// An engine that copies; collectives have others.
Engine parse_engine(std::string_view text);

/// Seconds of "90s", "30m" or "8h"; without a letter, seconds.
double parse_duration(std::string_view option, std::string_view text);

/// Threads of a block.
int parse_threads(std::string_view text);

}  // namespace linkmatrix
