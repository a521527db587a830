#pragma once

#include <memory>

#include "collective/collectives.hpp"
#include "collective/options.hpp"
#include "core/error.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Measures what the options ask for; the rest is ProgramRun's.
ExitCode run_collectives(const CollectiveOptions& options, Supervisor& supervisor);

}  // namespace linkmatrix
