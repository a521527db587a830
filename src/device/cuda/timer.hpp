#pragma once

#include <cstdint>

namespace linkmatrix::cuda {

/// Returns the device's wall clock in nanoseconds. Its resolution is 32 ns to 1.024 µs, depending on the device.
__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace linkmatrix::cuda
