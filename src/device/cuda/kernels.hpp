#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/pattern.hpp"
#include "core/words.hpp"

namespace linkmatrix::cuda {

/// Result of a check kernel, in device memory. Initially {0, maximum}.
struct CheckCounters {
  unsigned long long wrong_bytes;
  unsigned long long first_wrong;  ///< offset of the first wrong byte
};

/// State of a stream at a gate (LaunchGate), in host memory that the device can write.
struct GateSlot {
  unsigned armed;                        ///< generation that the stream waits for
  unsigned timed_out;                    ///< not 0: the stream stopped waiting, so later work was not gated
  unsigned long long sight_nanoseconds;  ///< time from the last poll of the closed gate to the first of the open gate
};

/// Makes the stream wait until *released is at least `generation`, at most `timeout_ns`.
void launch_gate_kernel(const volatile unsigned* released, unsigned generation, GateSlot* slot,
                        std::uint64_t timeout_ns, cudaStream_t stream);

/// A copy by a kernel.
struct KernelCopy {
  Kernel kernel;
  Direction direction;
  std::byte* destination;
  const std::byte* source;  ///< must have the destination's alignment modulo 16 bytes
  std::uint64_t bytes;
  int repeats;          ///< number of transfers in the launch
  int blocks, threads;  ///< launch shape; 0: tuned value
  bool host_memory;     ///< whether one endpoint is host memory; the tuned shape then has few blocks
};

/// Launches a copy. Kernel::bulk: one thread per block, regardless of `threads`; before compute capability 9.0 it is
/// replaced by Kernel::noncached.
void launch_copy(const KernelCopy& copy, cudaStream_t stream);

/// Fills memory with the pattern (core/pattern.hpp).
void launch_fill(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, cudaStream_t stream);

/// Fills new memory of the current device with the pattern, and waits for the end. Some links transfer zeros or
/// untouched memory faster.
void touch_on_device(std::byte* memory, std::uint64_t bytes, const std::string& where);

/// As check_portion() on the device. Adds the result to *counters.
void launch_check(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, CheckCounters* counters,
                  cudaStream_t stream, std::uint64_t ahead = 0, Portion portion = {});

/// Load every kernel on the current device, because loading a kernel behind a closed gate would deadlock.
void load_kernels();
void load_chain_kernels();

/// Throws CudaError if the last kernel launch failed. kernel: its name for the message.
void check_launch(const char* kernel);

}  // namespace linkmatrix::cuda
