#pragma once

#include <memory>

#include "nbody/nbody_system.hpp"
#include "nbody/options.hpp"

namespace linkmatrix {

/// What computes here: the ranks that a launcher started, the GPUs of this process, or its cores. Throws BadInput where
/// this build or this machine has not what was asked for.
std::unique_ptr<NbodySystem> choose_nbody_system(const NbodyOptions& options);

}  // namespace linkmatrix
