#pragma once

#include <memory>

#include "core/error.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/options.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Measures what the options ask for; the rest is ProgramRun's.
ExitCode run_nbody(const NbodyOptions& options, Supervisor& supervisor);

}  // namespace linkmatrix
