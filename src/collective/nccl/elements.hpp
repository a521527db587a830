#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collective/blocks.hpp"
#include "collective/expected.hpp"

namespace linkmatrix::cuda {

/// Writes what a rank sends: the blocks of `count` elements.
void launch_fill(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected, int rank,
                 const ElementBlocks& blocks, cudaStream_t stream);

/// Writes what a rank must have received.
void launch_expected(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected,
                     int rank, cudaStream_t stream);

/// Overwrites the blocks with what no rank sends.
void launch_poison(void* memory, std::uint64_t count, const CollectiveCase& wanted, std::uint64_t part,
                   const ElementBlocks& blocks, cudaStream_t stream);

/// Adds to `*wrong`, in device memory, how many elements of the blocks differ from those that must have been received.
void launch_check(const void* memory, const void* expected, std::uint64_t count, const CollectiveCase& wanted,
                  std::uint64_t part, const ElementBlocks& blocks, double tolerance, unsigned long long* wrong,
                  cudaStream_t stream);

}  // namespace linkmatrix::cuda
