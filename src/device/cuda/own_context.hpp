#pragma once

#include <cstddef>
#include <string>

#include "device/own_process.hpp"

namespace linkmatrix::cuda {

/// Makes this process a context on a device, which `source` knows by the number `device`, and finds this process in the
/// driver's list. Throws CudaError where the context cannot be made.
OwnProcess make_own_context(int ordinal, const std::string& where, DeviceUseSource& source, std::size_t device);

}  // namespace linkmatrix::cuda
