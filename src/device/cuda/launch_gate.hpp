#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"

namespace linkmatrix::cuda {

/// Maximum time until all streams wait at the gate; usually some µs.
constexpr std::chrono::seconds arming_time{2};

/// Holds streams of any devices until one store of the host releases all of them together.
///
/// Usage: close(), hold() for each stream, enqueue work, wait for all_armed(), open(). A stream that waits longer than
/// timeout_ns continues, so that it does not block its device; timed_out() then reports that the work was not gated.
/// All functions are called by one thread.
class LaunchGate {
 public:
  /// Number of a held stream, in the order of the calls of hold().
  using Slot = std::size_t;

  /// where: label for the error message.
  explicit LaunchGate(const std::string& where) : memory_{make_pinned_memory(sizeof(State), where)} { state() = {}; }

  /// Closes the gate for later calls of hold(). Earlier streams must have passed the gate.
  void close() {
    for (Slot slot = 0; slot < held_; ++slot) state().slots[slot] = {};
    held_ = 0;
    ++generation_;
  }

  /// Makes later work in the stream wait for the gate. Throws DeviceError for more than 1,024 streams.
  Slot hold(cudaStream_t stream) {
    if (held_ == most_held)
      throw DeviceError("at most " + std::to_string(most_held) + " streams can wait for a common start");
    launch_gate_kernel(&state().released, generation_, &state().slots[held_], timeout_ns, stream);
    return held_++;
  }

  void open() { std::atomic_ref(state().released).store(generation_, std::memory_order_release); }

  /// Returns whether the stream waits at the gate, after all its earlier work.
  bool armed(Slot slot) {
    return std::atomic_ref(state().slots[slot].armed).load(std::memory_order_acquire) == generation_;
  }
  bool all_armed() {
    for (Slot slot = 0; slot < held_; ++slot)
      if (!armed(slot)) return false;
    return true;
  }

  /// Returns the flag that reports a time limit, for kernels that wait for other reasons.
  unsigned* timed_out_flag(Slot slot) { return &state().slots[slot].timed_out; }
  static constexpr std::uint64_t timeout_ns = 5'000'000'000;

  /// Returns whether this stream, or any stream, stopped waiting. Valid after the streams have ended.
  bool timed_out(Slot slot) {
    return std::atomic_ref(state().slots[slot].timed_out).load(std::memory_order_acquire) != 0;
  }
  bool timed_out() {
    for (Slot slot = 0; slot < held_; ++slot)
      if (timed_out(slot)) return true;
    return false;
  }

  /// Returns the maximum time in seconds between the starts of two streams: the longest polling interval plus the
  /// resolution of the device's clock. Valid after the streams have ended.
  double uncertainty() {
    unsigned long long longest = 0;
    for (Slot slot = 0; slot < held_; ++slot) longest = std::max(longest, state().slots[slot].sight_nanoseconds);
    return static_cast<double>(longest) * 1e-9 + clock_step;
  }

  /// Opens the gate at the end of a scope, so that an exception leaves no device waiting.
  class Opener {
   public:
    explicit Opener(LaunchGate& gate) : gate_{gate} {}
    ~Opener() { gate_.open(); }
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;

   private:
    LaunchGate& gate_;
  };

 private:
  static constexpr std::size_t most_held = 1024;
  static constexpr double clock_step = 1.1e-6;  // %globaltimer has steps of 32 ns to 1.024 µs, depending on the device

  /// State in mapped host memory, readable by every device.
  struct State {
    unsigned released;  ///< streams of this generation and earlier ones continue
    std::array<GateSlot, most_held> slots;
  };
  State& state() { return *reinterpret_cast<State*>(memory_.get()); }

  PinnedMemory memory_;
  unsigned generation_ = 0;
  std::size_t held_ = 0;
};

}  // namespace linkmatrix::cuda
