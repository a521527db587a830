#pragma once

#include "collective/collectives.hpp"
#include "collective/options.hpp"

namespace linkmatrix {

/// Creates NCCL's collectives between all devices of this process. Throws BadInput and DeviceError.
std::unique_ptr<Collectives> make_device_collectives(const CollectiveOptions& options);

}  // namespace linkmatrix
