#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "core/words.hpp"

namespace linkmatrix::cuda {

/// Where a check kernel counts: on the device, zeroed (first_wrong at its maximum) before.
struct CheckCounters {
  unsigned long long wrong_bytes;
  unsigned long long first_wrong;
};

/// Holds the stream until *flag has reached `generation`; after `timeout_ns` gives up and sets *timed_out, so that a
/// sample that was never gated is noticed and thrown away.
void launch_gate(const volatile unsigned* flag, unsigned generation, unsigned* timed_out, std::uint64_t timeout_ns,
                 cudaStream_t stream);

/// Copies all `bytes`, the tail included. `bulk` falls back to `noncached` before compute capability 9.0.
void launch_copy(Kernel kernel, Direction direction, std::byte* destination, const std::byte* source,
                 std::uint64_t bytes, cudaStream_t stream);

/// Writes pattern_word(seed, i) (core/pattern.hpp).
void launch_fill(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, cudaStream_t stream);

/// Counts the bytes that differ from the pattern.
void launch_check(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, CheckCounters* counters,
                  cudaStream_t stream);

/// A ring of pointers through `bytes` (rounded down to a power of two), in a pseudo-random order.
void launch_ring(std::byte* memory, std::uint64_t bytes, cudaStream_t stream);

/// One thread follows the ring for `loads` dependent loads; where it ended goes to *sink.
void launch_chase(const std::byte* ring, std::uint64_t loads, unsigned long long* sink, cudaStream_t stream);

/// Loads every kernel onto the current device: a kernel that is loaded at its first launch, behind a closed gate, waits
/// for the gate and the gate for it.
void load_kernels();

}  // namespace linkmatrix::cuda
