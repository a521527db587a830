#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"

namespace linkmatrix::cuda {

/// Holds any number of streams, of all devices, until one store of the host releases them together. Each says when it
/// waits, so that the host can open the gate when all do. A stream gives up after a while rather than block its device
/// for ever; then what was measured was not gated, and `timed_out` says so.
class LaunchGate {
 public:
  /// Numbers the streams that are held, in the order of the calls of hold().
  using Slot = std::size_t;

  /// `where`: for the message, should the memory not be had.
  explicit LaunchGate(const std::string& where) : memory_{make_pinned_memory(sizeof(State), where)} { state() = {}; }

  /// For streams that are held from now on. Those that were held before must be done.
  void close() {
    for (Slot slot = 0; slot < held_; ++slot) state().slots[slot] = {};
    held_ = 0;
    ++generation_;
  }

  /// What is put into the stream after this waits for the gate.
  Slot hold(cudaStream_t stream) {
    if (held_ == most_held) throw DeviceError("a gate holds no more than " + std::to_string(most_held) + " streams");
    launch_gate_kernel(&state().released, generation_, &state().slots[held_], timeout_ns, stream);
    return held_++;
  }

  void open() { std::atomic_ref(state().released).store(generation_, std::memory_order_release); }

  /// Whether the stream waits: all that was put into it before is done, and its device is at work for it.
  bool armed(Slot slot) {
    return std::atomic_ref(state().slots[slot].armed).load(std::memory_order_acquire) == generation_;
  }
  bool all_armed() {
    for (Slot slot = 0; slot < held_; ++slot)
      if (!armed(slot)) return false;
    return true;
  }

  /// For other waits of a stream's device that may not last for ever.
  unsigned* timed_out_flag(Slot slot) { return &state().slots[slot].timed_out; }
  static constexpr std::uint64_t timeout_ns = 5'000'000'000;

  /// After the streams are done: did this one give up waiting?
  bool timed_out(Slot slot) {
    return std::atomic_ref(state().slots[slot].timed_out).load(std::memory_order_acquire) != 0;
  }
  bool timed_out() {
    for (Slot slot = 0; slot < held_; ++slot)
      if (timed_out(slot)) return true;
    return false;
  }

  /// After the streams are done: by how many seconds they may have seen the opening at different times. Each looks
  /// again and again, and saw it between two looks; the device's clock itself goes in steps.
  double uncertainty() {
    unsigned long long longest = 0;
    for (Slot slot = 0; slot < held_; ++slot) longest = std::max(longest, state().slots[slot].sight_nanoseconds);
    return static_cast<double>(longest) * 1e-9 + clock_step;
  }

  /// Opens the gate at the end of its scope, also when an enqueue fails: otherwise the devices would spin on.
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
  static constexpr double clock_step = 1.1e-6;  // %globaltimer: 32 ns to 1.024 µs, by the device

  /// In mapped host memory, which every device reads.
  struct State {
    unsigned released;  ///< generation up to which streams may go on
    std::array<GateSlot, most_held> slots;
  };
  State& state() { return *reinterpret_cast<State*>(memory_.get()); }

  PinnedMemory memory_;
  unsigned generation_ = 0;
  std::size_t held_ = 0;
};

}  // namespace linkmatrix::cuda
