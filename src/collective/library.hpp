#pragma once

#include <memory>

#include "collective/collectives.hpp"
#include "collective/options.hpp"

namespace linkmatrix {

/// Whether an MPI launcher started this process, and others with it.
bool started_ranks();

/// What does the collectives here: NCCL between the devices of this process, or what ranks have. Throws BadInput where
/// this build or this machine has neither.
std::unique_ptr<Collectives> choose_collectives(const CollectiveOptions& options);

}  // namespace linkmatrix
