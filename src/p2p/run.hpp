#pragma once

#include "core/error.hpp"
#include "p2p/options.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Measures the selected test cases and prints their tables. The supervisor writes the record, also after a failure.
/// Ends the process if a hung device would block it. Returns the exit code.
ExitCode run_p2p(const P2pOptions& options, Supervisor& supervisor);

}  // namespace linkmatrix
