#pragma once

#include <memory>
#include <span>
#include <string>

#include "device/backend.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {

/// Creates the back end of CUDA devices and pinned host memory per NUMA node. devices: CUDA ordinals; empty: all
/// visible. Creates all contexts in parallel. Throws DeviceError without a driver, BadInput for an unknown device.
std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices, HostMemoryKind host_memory = {});

/// Returns why the back end cuda cannot work here, such as "no NVIDIA driver"; "" if it can.
std::string why_no_cuda();

/// Returns one sentence, with the remedy, on why this process sees none of the host's GPUs; "" if it sees some or there
/// are none.
std::string why_hidden();

}  // namespace linkmatrix
