#pragma once

#include <cstdint>
#include <filesystem>

namespace linkmatrix {

/// Returns the bytes that this process can allocate without swapping: the available memory of the machine, limited by
/// each of its control groups (v1 or v2). Groups without a readable limit do not count. root: folder of /proc and /sys.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
