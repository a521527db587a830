#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/pattern.hpp"
#include "core/words.hpp"

namespace linkmatrix::cuda {

/// Where a check kernel counts: on the device, zeroed (first_wrong at its maximum) before.
struct CheckCounters {
  unsigned long long wrong_bytes;
  unsigned long long first_wrong;
};

/// What a stream that waits at a gate says of itself, in host memory that the device sees.
struct GateSlot {
  unsigned armed;      ///< the generation that it waits for, once it does
  unsigned timed_out;  ///< not 0: it gave up waiting, and what came after it was not gated
  unsigned long long
      sight_nanoseconds;  ///< from its last look that saw the gate closed to the end of the one that saw it open
};

/// Holds the stream until *released has reached `generation`; gives up after `timeout_ns`.
void launch_gate_kernel(const volatile unsigned* released, unsigned generation, GateSlot* slot,
                        std::uint64_t timeout_ns, cudaStream_t stream);

/// A copy by a kernel.
struct KernelCopy {
  Kernel kernel;
  Direction direction;
  std::byte* destination;
  const std::byte* source;  ///< as far from a multiple of 16 bytes as the destination
  std::uint64_t bytes;
  int repeats;          ///< how often, within the launch
  int blocks, threads;  ///< 0: the best known
  bool host_memory;     ///< one end is host memory: a few blocks fill its path, and two kernels must fit on the device
};

/// Copies all bytes, those before and after the whole vectors included. `bulk` falls back to `noncached` before compute
/// capability 9.0; one thread of each of its blocks issues the copies, whatever `threads` is.
void launch_copy(const KernelCopy& copy, cudaStream_t stream);

/// Writes pattern_word(seed, i) (core/pattern.hpp).
void launch_fill(std::byte* memory, std::uint64_t bytes, std::uint64_t seed, cudaStream_t stream);

/// Fills new memory of the current device with the pattern, and waits: what is timed is neither zeros, which some links
/// carry for less, nor what nobody wrote.
void touch_on_device(std::byte* memory, std::uint64_t bytes, const std::string& where);

/// Counts the bytes that differ from those of the pattern that are `ahead` bytes further on, in the portion's blocks.
void launch_check(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, CheckCounters* counters,
                  cudaStream_t stream, std::uint64_t ahead = 0, Portion portion = {});

/// Loads every kernel onto the current device: a kernel that is loaded at its first launch, behind a closed gate, waits
/// for the gate and the gate for it.
void load_kernels();
void load_chain_kernels();

/// Throws for a kernel that could not be launched.
void check_launch(const char* kernel);

}  // namespace linkmatrix::cuda
