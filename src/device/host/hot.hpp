#pragma once

#include "core/heating.hpp"
#include "device/host/parts.hpp"

namespace linkmatrix {

/// Heats the core of the calling thread until the run's deadline: products of matrices, and streams through memory.
/// `flip`: a bit of the first product is made wrong.
void keep_hot(Heated& heated, bool flip, const HostRun& run);

}  // namespace linkmatrix
