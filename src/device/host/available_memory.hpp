#pragma once

#include <cstdint>
#include <filesystem>

namespace linkmatrix {

/// Bytes that this process can have without swapping: of the machine, and of each control group (of either version)
/// that it is in, less what that group has in use and could not give back. No limit where the kernel does not say.
/// `root`: where /proc and /sys lie.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
