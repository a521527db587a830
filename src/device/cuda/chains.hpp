#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace linkmatrix::cuda {

/// Builds a ring of pointers in `bytes` bytes (rounded down to a power of two), in a pseudo-random order.
void launch_ring(std::byte* memory, std::uint64_t bytes, cudaStream_t stream);

/// State that the multiprocessors of a device pass on during a chase; all zero before the first chase.
struct ChaseState {
  unsigned turn;
  unsigned long long nanoseconds;  ///< duration of all loads of the last chase
};

/// Follows the ring for at least `loads` dependent loads, distributed over all multiprocessors in turn, as in
/// nvbandwidth; the value of the device is the mean. Returns the number of timed loads.
std::uint64_t launch_chase(const std::byte* ring, std::uint64_t loads, ChaseState* state, cudaStream_t stream);

/// One thread adds atomically to the word at `memory`, one addition after the other.
void launch_atomics(std::byte* memory, std::uint64_t additions, unsigned long long* sink, cudaStream_t stream);

/// Two devices exchange a flag. One writes 1, 2 … to the other's memory (`theirs`) and waits for the same number in its
/// own memory (`mine`), which the other device writes in response. Both words are initially 0. A device that waits
/// longer than `timeout_ns` stops and sets *timed_out.
void launch_flag(std::byte* theirs, std::byte* mine, bool begins, std::uint64_t rounds, unsigned* timed_out,
                 std::uint64_t timeout_ns, cudaStream_t stream);

/// Memory for messages between two devices.
struct Messages {
  std::byte* theirs;         ///< destination in the other device's memory
  const std::byte* message;  ///< message in this device's memory, with the same alignment modulo 16 bytes as `theirs`;
                             ///< otherwise copied bytewise
  std::uint64_t bytes;
  std::byte* their_word;  ///< 8-byte words in the other device's memory and in this one's; initially 0, …
  std::byte* my_word;     ///< … then the number of the last message
};

/// Result of a ping-pong, in device memory.
struct PingPongState {
  unsigned long long nanoseconds;  ///< duration of all round trips except the first
  unsigned timed_out;              ///< not 0: the other device did not answer
};

/// Runs `rounds` + 1 round trips. A device writes its message and then a word into the other's memory; a kernel of the
/// other device waits for the word and answers. The first round trip is not timed, because the other kernel may start
/// late.
void launch_ping_pong(const Messages& messages, bool begins, std::uint64_t rounds, PingPongState* state,
                      std::uint64_t timeout_ns, cudaStream_t stream);

}  // namespace linkmatrix::cuda
