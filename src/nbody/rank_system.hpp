#pragma once

#include <memory>

#include "nbody/nbody_system.hpp"
#include "nbody/options.hpp"

namespace linkmatrix {

/// All ranks of an MPI job: a core each, or a GPU each. Throws BadInput.
std::unique_ptr<NbodySystem> make_rank_system(const NbodyOptions& options);

}  // namespace linkmatrix
