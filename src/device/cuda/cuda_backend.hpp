#pragma once

#include <memory>
#include <span>
#include <string>

#include "device/backend.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix {

/// Creates the back end of CUDA devices and of host memory per NUMA node. Creates the contexts of all devices in
/// parallel. devices: CUDA ordinals; empty: all visible. Throws DeviceError without a driver, BadInput for an unknown
/// device.
std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices, HostMemoryKind host_memory = {});

/// Returns why make_cuda_backend() would fail here, such as "no NVIDIA driver"; "" if devices are visible.
std::string why_no_cuda();

/// Returns one sentence with the reason and remedy if the host has GPUs and this process sees none; otherwise "".
std::string why_hidden();

}  // namespace linkmatrix
