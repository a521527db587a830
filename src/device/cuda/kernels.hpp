#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/pattern.hpp"
#include "core/words.hpp"

namespace linkmatrix::cuda {

/// Counters of a check kernel, on the device; initially 0, first_wrong at its maximum.
struct CheckCounters {
  unsigned long long wrong_bytes;
  unsigned long long first_wrong;
};

/// State of a stream at a gate, in host memory that the device can write.
struct GateSlot {
  unsigned armed;                        ///< generation that the stream waits for
  unsigned timed_out;                    ///< not 0: it stopped waiting, so later work was not gated
  unsigned long long sight_nanoseconds;  ///< from the last poll with a closed gate to the first with an open one
};

/// Makes the stream wait until *released has reached `generation`, at most `timeout_ns`.
void launch_gate_kernel(const volatile unsigned* released, unsigned generation, GateSlot* slot,
                        std::uint64_t timeout_ns, cudaStream_t stream);

/// A kernel copy.
struct KernelCopy {
  Kernel kernel;
  Direction direction;
  std::byte* destination;
  const std::byte* source;  ///< same alignment modulo 16 bytes as the destination
  std::uint64_t bytes;
  int repeats;          ///< repeats within the launch
  int blocks, threads;  ///< 0: tuned value
  bool host_memory;  ///< whether one endpoint is host memory, whose path few blocks fill; two kernels must fit on the
                     ///< device
};

/// Copies all bytes, including those before and after whole vectors. Before compute capability 9.0 `bulk` is
/// `noncached`. One thread per block issues bulk copies, regardless of `threads`.
void launch_copy(const KernelCopy& copy, cudaStream_t stream);

/// Writes pattern_word(seed, i) (core/pattern.hpp).
void launch_fill(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, cudaStream_t stream);

/// Fills new memory of the current device with the pattern, and waits, because some links transfer zeros and untouched
/// memory faster.
void touch_on_device(std::byte* memory, std::uint64_t bytes, const std::string& where);

/// Counts the bytes in the portion's blocks that differ from the pattern, whose bytes begin `ahead` bytes later.
void launch_check(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, CheckCounters* counters,
                  cudaStream_t stream, std::uint64_t ahead = 0, Portion portion = {});

/// Loads every kernel on the current device. A kernel loaded at its first launch behind a closed gate would deadlock.
void load_kernels();
void load_chain_kernels();

/// Throws if a kernel could not be launched.
void check_launch(const char* kernel);

}  // namespace linkmatrix::cuda
