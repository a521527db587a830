#pragma once

#include "ranks/options.hpp"

namespace linkmatrix::ranks {

/// What this build can do of CUDA devices.
DeviceSupport device_support();

/// To be called before MPI starts, which may be the first to call the driver: each rank sees perhaps one GPU, and
/// copies to and from those of all ranks.
void expect_devices(int ranks);

}  // namespace linkmatrix::ranks
