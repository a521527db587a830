#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/backend.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {

/// Creates the back end of pinned threads, for machines without a GPU and for tests.
///
/// - Several NUMA nodes: each node is a device. It copies with as many cores as fill the path.
/// - One NUMA node: each core is a device, up to 8 unless `devices` names more. A single core is shared by two devices.
/// - The memory of each NUMA node is a host endpoint. The other endpoint makes its copies.
///
/// devices: numbers of the devices; empty: all. nodes: for tests. Throws BadInput for an unknown device.
std::unique_ptr<Backend> make_host_backend(std::span<const int> devices, bool huge_pages = true,
                                           const std::vector<NumaNode>& nodes = numa_nodes());

}  // namespace linkmatrix
