#pragma once

#include <memory>

#include "p2p/measurer.hpp"
#include "p2p/options.hpp"

namespace linkmatrix {

/// Creates the measurer of the ranks of an MPI job. All ranks call it. Rank 0 then plans and writes; the other ranks
/// call Machine::serve(). Throws BadInput.
std::unique_ptr<Measurer> make_ranks_measurer(const P2pOptions& options);

}  // namespace linkmatrix
