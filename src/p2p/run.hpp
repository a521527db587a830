#pragma once

#include "core/error.hpp"
#include "p2p/options.hpp"
#include "run/supervisor.hpp"

namespace linkmatrix {

/// Measures what the options ask for, prints the tables and has the supervisor keep the record, also when a device
/// fails or time runs out. The process is ended in here where a hung device would block it.
ExitCode run_p2p(const P2pOptions& options, Supervisor& supervisor);

}  // namespace linkmatrix
