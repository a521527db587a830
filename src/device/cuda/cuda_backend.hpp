#pragma once

#include <memory>
#include <span>
#include <string>

#include "device/backend.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {

/// CUDA devices and the pinned memory of the host's NUMA nodes. `devices` are CUDA ordinals; empty: all visible.
/// Brings all contexts up in parallel. Throws DeviceError without a driver, BadInput for an unknown device.
std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices, HostMemoryKind host_memory = {});

/// Why the cuda back end cannot work here, "no NVIDIA driver"; empty: it can.
std::string why_no_cuda();

/// This host has GPUs and a driver, and this process sees none of them: why, one sentence with the remedy. Empty: it
/// sees some, or there are none.
std::string why_hidden();

}  // namespace linkmatrix
