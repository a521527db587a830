#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "collective/blocks.hpp"
#include "collective/expected.hpp"

namespace linkmatrix::cuda {

// Kernels on buffers of `count` elements. blocks: selected blocks. part: elements per part (ElementBlocks::for_each).

/// Writes the selected blocks of the data that a rank sends.
void launch_fill(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected, int rank,
                 const ElementBlocks& blocks, cudaStream_t stream);

/// Writes all data that a rank must receive.
void launch_expected(void* memory, std::uint64_t count, const CollectiveCase& wanted, const Expectation& expected,
                     int rank, cudaStream_t stream);

/// Poisons the selected blocks with data that no rank sends.
void launch_poison(void* memory, std::uint64_t count, const CollectiveCase& wanted, std::uint64_t part,
                   const ElementBlocks& blocks, cudaStream_t stream);

/// Adds the number of wrong elements in the selected blocks to *wrong, which is in device memory. tolerance: see
/// tolerance_of().
void launch_check(const void* memory, const void* expected, std::uint64_t count, const CollectiveCase& wanted,
                  std::uint64_t part, const ElementBlocks& blocks, double tolerance, unsigned long long* wrong,
                  cudaStream_t stream);

}  // namespace linkmatrix::cuda
