#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace linkmatrix::cuda {

/// Builds a ring of pointers in pseudo-random order. bytes: size, rounded down to a power of two.
void launch_ring(std::byte* memory, std::uint64_t bytes, cudaStream_t stream);

/// State of a chase in device memory, shared by its multiprocessors. All zero before the first chase.
struct ChaseState {
  unsigned turn;                   ///< number of the multiprocessor that chases next
  unsigned long long nanoseconds;  ///< duration of all loads of the last chase
};

/// Follows the ring with at least `loads` dependent loads. All multiprocessors take part, one after the other, so that
/// the result is their mean (as in nvbandwidth). Returns the number of timed loads.
std::uint64_t launch_chase(const std::byte* ring, std::uint64_t loads, ChaseState* state, cudaStream_t stream);

/// Adds atomically to the word at `memory` from one thread, one addition after the other. sink: receives the last
/// value, so that the compiler keeps the additions.
void launch_atomics(std::byte* memory, std::uint64_t additions, unsigned long long* sink, cudaStream_t stream);

/// One side of a flag that two devices exchange. The side with `begins` writes 1, 2, … to the other device's memory
/// (`theirs`) and waits for the same number in its own memory (`mine`). The other side answers each number. Both words
/// are initially 0. A side that waits longer than `timeout_ns` sets *timed_out and ends.
void launch_flag(std::byte* theirs, std::byte* mine, bool begins, std::uint64_t rounds, unsigned* timed_out,
                 std::uint64_t timeout_ns, cudaStream_t stream);

/// Memory for messages between two devices.
struct Messages {
  std::byte* theirs;         ///< destination in the other device's memory
  const std::byte* message;  ///< message in this device's memory; fast if aligned as `theirs` modulo 16 bytes
  std::uint64_t bytes;
  std::byte* their_word;  ///< word in the other device's memory, for the number of the last message; initially 0
  std::byte* my_word;     ///< the same in this device's memory
};

/// Result of a ping-pong, in device memory.
struct PingPongState {
  unsigned long long nanoseconds;  ///< duration of all round trips except the first
  unsigned timed_out;              ///< not 0: the other device did not answer
};

/// One side of a ping-pong with `rounds` + 1 round trips. A kernel writes its message and then its word into the other
/// device's memory; the kernel of the other device waits for the word and answers. The first round trip is not timed,
/// because the other kernel may start late. begins: whether this side sends first.
void launch_ping_pong(const Messages& messages, bool begins, std::uint64_t rounds, PingPongState* state,
                      std::uint64_t timeout_ns, cudaStream_t stream);

}  // namespace linkmatrix::cuda
