#pragma once

#include <memory>

#include "nbody/nbody_system.hpp"
#include "nbody/options.hpp"

namespace linkmatrix {

/// Creates the system of all ranks of an MPI job, with one core or one GPU each. All ranks call it. Throws BadInput.
std::unique_ptr<NbodySystem> make_rank_system(const NbodyOptions& options);

}  // namespace linkmatrix
