#pragma once

#include <memory>
#include <span>

#include "device/backend.hpp"

namespace linkmatrix {

/// Host memory copied by pinned threads: real copies, with the schedule, statistics and output of every back end.
///
/// Devices are NUMA nodes where this process may use several, else cores (eight of them, unless `devices` names more; a
/// single core twice), each a pinned thread with memory that it touched first; after them each NUMA node's memory.
/// `devices` are indices of them; empty: all. `huge_pages`: memory in pages of 2 MiB. Throws BadInput for an unknown
/// one.
std::unique_ptr<Backend> make_host_backend(std::span<const int> devices, bool huge_pages = true);

}  // namespace linkmatrix
