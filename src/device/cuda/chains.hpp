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

/// What one device needs to send messages to another one and to see the other's arrive.
struct Messages {
  std::byte* theirs;         ///< in the other's memory, where they arrive
  const std::byte* message;  ///< here; as far from a multiple of 16 bytes as `theirs`, or it goes byte by byte
  std::uint64_t bytes;
  std::byte* their_word;  ///< 8 bytes in the other's memory, and here: 0 before, …
  std::byte* my_word;     ///< … then the number of the message that has arrived
};

/// What a ping-pong leaves behind, in the device's memory.
struct PingPongState {
  unsigned long long nanoseconds;  ///< of all round trips but the first
  unsigned timed_out;              ///< not 0: the other one did not answer
};

/// `rounds` and one more times, one device writes its message into the other's memory and then a word beside it, for
/// which a kernel of the other one waits before it does the same. The first round trip is not timed: the other kernel
/// may begin late.
void launch_ping_pong(const Messages& messages, bool begins, std::uint64_t rounds, PingPongState* state,
                      std::uint64_t timeout_ns, cudaStream_t stream);

}  // namespace linkmatrix::cuda
