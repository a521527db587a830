#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collective/blocks.hpp"
#include "collective/expected.hpp"

namespace linkmatrix::cuda {

/// Writes the blocks of the data that a rank sends.
void launch_fill(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected, int rank,
                 const ElementBlocks& blocks, cudaStream_t stream);

/// Writes the data that a rank must receive.
void launch_expected(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected,
                     int rank, cudaStream_t stream);

/// Poisons the blocks with data that no rank sends.
void launch_poison(void* memory, std::uint64_t count, const CollectiveCase& wanted, std::uint64_t part,
                   const ElementBlocks& blocks, cudaStream_t stream);

/// Adds the number of wrong elements of the blocks to `*wrong`, in device memory.
void launch_check(const void* memory, const void* expected, std::uint64_t count, const CollectiveCase& wanted,
                  std::uint64_t part, const ElementBlocks& blocks, double tolerance, unsigned long long* wrong,
                  cudaStream_t stream);

}  // namespace linkmatrix::cuda
