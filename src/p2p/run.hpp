#pragma once

#include "core/error.hpp"
#include "p2p/options.hpp"

namespace linkmatrix {

/// Measures what the options ask for, prints the tables and writes the record, also when a device fails or time runs
/// out. Ends the process by itself where a hung device would block it.
ExitCode run_p2p(const P2pOptions& options);

}  // namespace linkmatrix
