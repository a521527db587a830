#pragma once

#include "collective/collectives.hpp"
#include "collective/options.hpp"

namespace linkmatrix {

/// Creates the collectives of all ranks of an MPI job: MPI between host memory, or NCCL between one device per rank.
/// All ranks call it. Throws BadInput.
std::unique_ptr<Collectives> make_rank_collectives(const CollectiveOptions& options);

}  // namespace linkmatrix
