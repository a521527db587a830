#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/engine.hpp"
#include "nbody/nbody_case.hpp"
#include "nbody/series.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {

/// What the command line of nbody_scaling asked for.
struct NbodyOptions : ProgramOptions {
  enum class On { automatic, cuda, host };

  On on = On::automatic;
  std::vector<std::uint64_t> bodies;  ///< empty: the back end's own
  std::vector<Precision> precisions{Precision::f32};
  std::vector<Scaling> scalings{Scaling::strong};
  std::vector<NbodySeries> named;  ///< --testcase
  std::vector<int> counts;         ///< of devices; empty: powers of two, and all
  std::vector<int> devices;        ///< empty: all
  std::optional<Memory> memory;    ///< of ranks
  int steps = 0;                   ///< of a sample; 0: as many as it needs

  /// Those that were named, or each precision with each scaling.
  std::vector<NbodySeries> series() const;
};

template <>
struct Words<NbodyOptions::On> {
  static constexpr std::string_view name = "back end";
  static constexpr std::array table{std::pair{NbodyOptions::On::automatic, "auto"},
                                    std::pair{NbodyOptions::On::cuda, "cuda"},
                                    std::pair{NbodyOptions::On::host, "host"}};
};

/// Throws BadInput.
NbodyOptions parse_nbody_options(std::span<char* const> arguments);

/// Throws BadInput for the first option that was given and does nothing in a run with ranks, or without.
void refuse_unused(const NbodyOptions& options, bool has_ranks);

std::string nbody_help();

}  // namespace linkmatrix
