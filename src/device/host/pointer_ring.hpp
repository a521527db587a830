#pragma once

#include <cstddef>
#include <cstdint>

namespace linkmatrix {

/// Makes a ring of pointers in memory, one in each cache line, as many as fit a power of two; it begins at `memory`.
void build_ring(std::byte* memory, std::uint64_t bytes);

/// Follows the ring from `at`, every load waiting for the last; returns where it ended, so that no load is left out.
const std::byte* chase(const std::byte* at, std::uint64_t loads);

}  // namespace linkmatrix
