#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/backend.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {

/// Creates the back end of pinned threads that copy between their memory, for machines without a GPU and for tests.
///
/// With several NUMA nodes each node is a device, with as many cores as fill the path. Else each core is a device, up
/// to 8 unless `devices` names more; a single core gets two devices that share it. The memory of each NUMA node is a
/// host endpoint, and the device at the other end makes its copies. nodes: replaced only in tests.
///
/// Throws BadInput if a device of `devices` does not exist (empty: all).
std::unique_ptr<Backend> make_host_backend(std::span<const int> devices, bool huge_pages = true,
                                           const std::vector<NumaNode>& nodes = numa_nodes());

}  // namespace linkmatrix
