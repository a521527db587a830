#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/engine.hpp"
#include "nbody/nbody_case.hpp"
#include "nbody/plan.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {

/// The command line of nbody_scaling.
struct NbodyOptions : ProgramOptions {
  enum class On { automatic, cuda, host };

  On on = On::automatic;
  std::vector<std::uint64_t> bodies;  ///< empty: defaults
  std::vector<Precision> precisions{Precision::f32};
  std::vector<Scaling> scalings{Scaling::strong};
  std::vector<NbodySeries> named;  ///< --testcase
  std::vector<int> counts;         ///< numbers of devices; empty: usual_counts()
  std::vector<int> devices;        ///< empty: all
  std::optional<Memory> memory;    ///< memory of ranks
  int steps = 0;                   ///< steps per sample; 0: automatic

  /// Returns the named series, or each precision with each scaling.
  std::vector<NbodySeries> series() const;
};

template <>
struct Words<NbodyOptions::On> {
  static constexpr std::string_view name = "back end";
  static constexpr std::array table{std::pair{NbodyOptions::On::automatic, "auto"},
                                    std::pair{NbodyOptions::On::cuda, "cuda"},
                                    std::pair{NbodyOptions::On::host, "host"}};
};

/// Parses the command line. Throws BadInput.
NbodyOptions parse_nbody_options(std::span<char* const> arguments);

/// Throws BadInput for the first given option that has no effect in the run. has_ranks: whether the run has MPI ranks.
void refuse_unused(const NbodyOptions& options, bool has_ranks);

std::string nbody_help();

}  // namespace linkmatrix
