#pragma once

#include <memory>
#include <span>
#include <vector>

#include "device/backend.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {

/// Threads on pinned cores that copy between each other's memory: for machines without a GPU, and for tests.
///
/// On a machine with several NUMA nodes each is a device, and as many of its cores copy as fill the way; else every
/// core is one, up to 8 unless `devices` names more. A machine with a single core gets two that share it. The memory of
/// each NUMA node is a host endpoint, from which and to which the device at the other end copies. `nodes`: other than
/// this machine's only in tests.
///
/// Throws BadInput if a device of `devices` (empty: all) does not exist.
std::unique_ptr<Backend> make_host_backend(std::span<const int> devices, bool huge_pages = true,
                                           const std::vector<NumaNode>& nodes = numa_nodes());

}  // namespace linkmatrix
