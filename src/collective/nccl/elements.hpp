#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collective/expected.hpp"

namespace linkmatrix::cuda {

/// Writes what a rank sends, `count` elements.
void launch_fill(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected, int rank,
                 cudaStream_t stream);

/// Adds to `*wrong`, in device memory, how many of `count` elements are not what the rank must have received.
void launch_check(const void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected,
                  int rank, double tolerance, unsigned long long* wrong, cudaStream_t stream);

}  // namespace linkmatrix::cuda
