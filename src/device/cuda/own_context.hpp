#pragma once

#include <cstddef>
#include <string>

#include "device/own_process.hpp"

namespace linkmatrix::cuda {

/// Creates a context on a device and finds this process in the driver's list (find_own_process). ordinal, where: CUDA
/// ordinal and label of the device. device: its index for `source`. Throws CudaError if the context cannot be created.
OwnProcess make_own_context(int ordinal, const std::string& where, DeviceUseSource& source, std::size_t device);

}  // namespace linkmatrix::cuda
