#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "device/backend.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/handovers.hpp"
#include "device/cuda/launch_gate.hpp"

namespace linkmatrix::cuda {

/// A copy with its own stream on the executing device.
struct PlacedCopy {
  const Copy& copy;
  EndpointState& on;
  Lane& lane;
  LaunchGate::Slot slot = 0;  ///< slot at the gate, if the copy is gated
};

/// Enqueues copies between endpoints into streams, and fills and compares their buffers. Used by one thread.
class CopyWork {
 public:
  /// Keeps a reference to the endpoint states, one per endpoint.
  CopyWork(std::vector<EndpointState>& endpoint_states, HostMemoryKind host_memory)
      : endpoint_states_{endpoint_states}, host_memory_{host_memory} {}

  /// Returns the device that executes a copy: the initiator; if that is host memory, the other endpoint.
  EndpointState& executor(const Copy& copy) const;
  /// Returns the name of a copy, "gpu0->gpu3".
  std::string pair_text(const Copy& copy) const;
  /// Returns whether one endpoint is host memory.
  bool with_host(const Copy& copy) const;
  /// Returns whether the driver stages any of the copies: without peer access, or for pageable memory. The driver's
  /// call then waits for the device, so behind a closed gate it would never return.
  bool staged(std::span<const Copy> copies) const;

  /// Assigns a stream to each copy. The copies must outlive the result.
  std::vector<PlacedCopy> place(std::span<const Copy> copies) const;

  /// Enqueues `transfers` transfers of a copy that is not a chain.
  void enqueue(const PlacedCopy& placed, int transfers) const;
  /// Enqueues a chain behind the gate. The stream waits for the gate first.
  void enqueue_chain(const PlacedCopy& placed, LaunchGate& gate) const;
  /// Returns the endpoint that answers in a flag or visibility test.
  EndpointState& answerer(const Copy& copy) const {
    return endpoint_state(&executor(copy) == &endpoint_state(copy.source) ? copy.destination : copy.source);
  }
  /// Enqueues the answering device's work in a separate stream behind the gate. Returns its slot.
  LaunchGate::Slot enqueue_answer(const Copy& copy, LaunchGate& gate) const;
  /// Creates the thread that answers for host memory. It waits for HostSide::begin().
  std::unique_ptr<HostSide> host_side(const Copy& copy) const;
  /// Returns the result of a finished visibility test. host: the thread of the host side; null: both are devices.
  Visibility visibility(const PlacedCopy& placed, HostSide* host) const;

  /// Prepares the memory of a chain: builds a missing ring of pointers, or sets flags to 0.
  void set_up_chain(const Copy& copy, Deadline deadline) const;

  /// Duration and number of loads of a finished chase, timed by the device without the launch.
  struct Chased {
    double seconds, loads;
  };
  Chased chased(const PlacedCopy& placed) const;

  /// Fills the source, poisons the destination, and compares the destination. Throw TimedOut if the device hangs at the
  /// deadline.
  void fill(const Copy& copy, std::uint64_t seed, Deadline deadline = Deadline::never()) const;
  void poison(const Copy& copy, Deadline deadline = Deadline::never()) const;
  PatternCheck compare(const Copy& copy, std::uint64_t seed, Deadline deadline = Deadline::never()) const;

  /// Fills the source buffer with the pattern of source_seed(), unless it already contains this pattern.
  void lay_pattern(const Copy& copy, Deadline deadline) const;
  /// Starts the comparison of a portion of the last transfer to a device. found: result, in pinned memory.
  void begin_compare(const Copy& copy, const Portion& portion, CheckCounters* found) const;
  /// Waits for the comparison. For data in host memory, compares it now.
  PatternCheck end_compare(const Copy& copy, const Portion& portion, const CheckCounters& found,
                           Deadline deadline) const;

 private:
  EndpointState& endpoint_state(int endpoint) const { return endpoint_states_[static_cast<std::size_t>(endpoint)]; }
  std::byte* source(const Copy& copy) const {
    return endpoint_state(copy.source).source.at(copy.source_slot).data() + copy.offset + copy.shift;
  }
  std::byte* destination(const Copy& copy) const {
    return endpoint_state(copy.destination).destination.at(copy.destination_slot).data() + copy.offset;
  }
  KernelCopy kernel_copy(const Copy& copy, int repeats) const;
  HandoverPlace handover_place(const Copy& copy) const;
  void build_ring(const Copy& copy, Deadline deadline) const;
  void set_up_handovers(const Copy& copy, Deadline deadline) const;

  std::vector<EndpointState>& endpoint_states_;
  HostMemoryKind host_memory_;
};

}  // namespace linkmatrix::cuda
