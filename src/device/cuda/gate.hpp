#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"

namespace linkmatrix::cuda {

/// Holds any number of streams, of all devices, until one store of the host releases them together. It gives up after a
/// while rather than block a device for ever; then what was measured was not gated, and `timed_out` says so.
class Gate {
 public:
  /// `where`: for the message, should the memory not be had.
  explicit Gate(const std::string& where) : memory_{make_pinned_memory(sizeof(State), where)} { state() = {}; }

  /// For streams that are held from now on.
  void close() {
    ++generation_;
    state().timed_out = 0;
  }
  /// What is put into the stream after this waits for the gate.
  void hold(cudaStream_t stream) {
    launch_gate(&state().released, generation_, &state().timed_out, timeout_ns, stream);
  }
  void open() { std::atomic_ref(state().released).store(generation_, std::memory_order_release); }
  /// For other waits of a device that may not last for ever.
  unsigned* timed_out_flag() { return &state().timed_out; }
  static constexpr std::uint64_t timeout_ns = 5'000'000'000;

  /// After the streams are done: did a device give up waiting?
  bool timed_out() { return std::atomic_ref(state().timed_out).load(std::memory_order_acquire) != 0; }

  /// Opens the gate at the end of its scope, also when an enqueue fails: otherwise the devices would spin on.
  class Opener {
   public:
    explicit Opener(Gate& gate) : gate_{gate} {}
    ~Opener() { gate_.open(); }
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;

   private:
    Gate& gate_;
  };

 private:
  /// In mapped host memory, which every device reads.
  struct State {
    unsigned released;   ///< generation up to which streams may go on
    unsigned timed_out;  ///< set by a stream that gave up
  };
  State& state() { return *reinterpret_cast<State*>(memory_.get()); }

  PinnedMemory memory_;
  unsigned generation_ = 0;
};

}  // namespace linkmatrix::cuda
