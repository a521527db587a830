#pragma once

#include <cstdint>

namespace linkmatrix::cuda {

/// The device's wall clock.
__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace linkmatrix::cuda
