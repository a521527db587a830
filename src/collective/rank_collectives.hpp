#pragma once

#include "collective/collectives.hpp"
#include "collective/options.hpp"

namespace linkmatrix {

/// All ranks of an MPI job: MPI's collectives between their host memory, or NCCL's between their devices, one each.
/// Throws BadInput.
std::unique_ptr<Collectives> make_rank_collectives(const CollectiveOptions& options);

}  // namespace linkmatrix
