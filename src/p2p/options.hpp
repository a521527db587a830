#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/host/memory.hpp"
#include "measure/engine.hpp"
#include "measure/simulated_fault.hpp"
#include "p2p/option_scope.hpp"
#include "p2p/plan.hpp"
#include "p2p/testcases.hpp"
#include "program/program_run.hpp"
#include "ranks/options.hpp"

namespace linkmatrix {

/// What the command line asked for.
struct P2pOptions : ProgramOptions {
  enum class Action { measure, topology, list, limits, help, version };

  Action action = Action::measure;
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
  MeasureOptions measure;
  ranks::NetworkOptions ranks;         ///< what is said of ranks; the rest comes from the other options
  double soak = 0;                     ///< seconds that all is measured again while devices are heated; 0: not
  std::optional<double> budget;        ///< seconds after which no further test case begins
  std::optional<std::string> backend;  ///< nothing: chosen from what is here
  std::string references;              ///< a file of them; empty: none are known
  std::optional<SimulatedFault> fault;
  std::vector<std::string_view> given;  ///< names of the options, as given
};

/// Throws BadInput.
P2pOptions parse_p2p_options(std::span<char* const> arguments);

/// Throws BadInput for the first option that was given and does nothing in such a run, with the reason and the remedy:
/// whoever gave it expects something that does not happen. To be called when it is known what is measured, and before
/// anything is.
void refuse_unused(const P2pOptions& options, const RunScope& run);

std::string p2p_help();

}  // namespace linkmatrix
