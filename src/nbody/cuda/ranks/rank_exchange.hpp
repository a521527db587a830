#pragma once

#include "nbody/cuda/device_simulation.hpp"
#include "nbody/positions_gather.hpp"

namespace linkmatrix {

/// The positions of ranks with a GPU each: through pinned memory of the host, where MPI gathers them, for few builds of
/// MPI take addresses of devices.
Exchanges rank_exchanges(PositionsGather& ranks);

}  // namespace linkmatrix
