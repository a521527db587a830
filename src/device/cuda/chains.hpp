#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace linkmatrix::cuda {

/// A ring of pointers through `bytes` (rounded down to a power of two), in a pseudo-random order.
void launch_ring(std::byte* memory, std::uint64_t bytes, cudaStream_t stream);

/// What the multiprocessors of a device hand on to each other; all zero before the first chase.
struct ChaseState {
  unsigned turn;
  unsigned long long nanoseconds;  ///< of all loads of the last chase
};

/// Follows the ring for at least `loads` dependent loads, shared out to all multiprocessors one after the other, as
/// nvbandwidth does: the mean over them is what a device has. Returns how many loads it will time.
std::uint64_t launch_chase(const std::byte* ring, std::uint64_t loads, ChaseState* state, cudaStream_t stream);

/// One thread adds atomically to the word at `memory`, each addition waiting for the answer of the last.
void launch_atomics(std::byte* memory, std::uint64_t additions, unsigned long long* sink, cudaStream_t stream);

/// Two devices hand a flag to and fro: one writes 1, 2 … to the other's memory (`theirs`) and waits for the same in its
/// own (`mine`), which the other writes once it has seen the number. Both words are 0 before. A device that waits
/// longer than `timeout_ns` gives up and sets *timed_out.
void launch_flag(std::byte* theirs, std::byte* mine, bool begins, std::uint64_t rounds, unsigned* timed_out,
                 std::uint64_t timeout_ns, cudaStream_t stream);

}  // namespace linkmatrix::cuda
