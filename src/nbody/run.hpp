#pragma once

#include <memory>

#include "core/error.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/options.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Measures the selected test cases. See ProgramRun.
ExitCode run_nbody(const NbodyOptions& options, Supervisor& supervisor);

}  // namespace linkmatrix
