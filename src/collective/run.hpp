#pragma once

#include <memory>

#include "collective/collectives.hpp"
#include "collective/options.hpp"
#include "core/error.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Measures the selected test cases. See ProgramRun.
ExitCode run_collectives(const CollectiveOptions& options, Supervisor& supervisor);

}  // namespace linkmatrix
