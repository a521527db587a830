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

/// A copy of a call, and the stream of the device that executes it, which no other copy of the call has.
struct PlacedCopy {
  const Copy& copy;
  EndpointState& on;
  Lane& lane;
  LaunchGate::Slot slot = 0;  ///< at the gate, where there is one
};

/// Puts copies between stations into streams, and fills and compares their buffers.
class CopyWork {
 public:
  /// Keeps a reference to the stations, one for each endpoint.
  CopyWork(std::vector<EndpointState>& endpoint_states, HostMemoryKind host_memory)
      : endpoint_states_{endpoint_states}, host_memory_{host_memory} {}

  /// The device that makes a copy: the initiator, or where that is host memory, the other end.
  EndpointState& executor(const Copy& copy) const;
  /// "gpu0->gpu3".
  std::string pair_text(const Copy& copy) const;
  /// Whether one end is host memory.
  bool with_host(const Copy& copy) const;
  /// Whether any copy is moved piece by piece by the driver on the host, as without peer access or of pageable memory:
  /// it waits for the device inside the call, behind a closed gate for ever.
  bool staged(std::span<const Copy> copies) const;

  /// Gives each copy a stream. The copies must outlive the answer.
  std::vector<PlacedCopy> place(std::span<const Copy> copies) const;

  /// Enqueues some transfers of a copy that is no chain.
  void enqueue(const PlacedCopy& placed, int transfers) const;
  /// Enqueues a chain, which the gate holds.
  void enqueue_chain(const PlacedCopy& placed, LaunchGate& gate) const;
  /// The other end of a flag or of a visibility test.
  EndpointState& answerer(const Copy& copy) const {
    return endpoint_state(&executor(copy) == &endpoint_state(copy.source) ? copy.destination : copy.source);
  }
  /// What the device there does, in a stream of its own that the gate holds; returns its slot.
  LaunchGate::Slot enqueue_answer(const Copy& copy, LaunchGate& gate) const;
  /// What host memory does there: a thread that is told when to begin.
  std::unique_ptr<HostSide> host_side(const Copy& copy) const;
  /// What both sides of a visibility test saw, when they are done. `host`: that of host memory, where it is one.
  Visibility visibility(const PlacedCopy& placed, HostSide* host) const;

  /// Lays what a chain walks through: a ring of pointers where it is not there yet, flags that are down.
  void set_up_chain(const Copy& copy, Deadline deadline) const;

  /// What the loads of a finished chase took, and how many they were: timed on the device, without the launch.
  struct Chased {
    double seconds, loads;
  };
  Chased chased(const PlacedCopy& placed) const;

  /// For verification. Like all that waits here they throw TimedOut where the device hangs when the deadline has
  /// passed.
  void fill(const Copy& copy, std::uint64_t seed, Deadline deadline = Deadline::never()) const;
  void poison(const Copy& copy, Deadline deadline = Deadline::never()) const;
  PatternCheck compare(const Copy& copy, std::uint64_t seed, Deadline deadline = Deadline::never()) const;

  /// Fills the whole source buffer with its own pattern, unless it holds that.
  void lay_pattern(const Copy& copy, Deadline deadline) const;
  /// Begins to compare what the last transfer has brought to a device; `found`, in pinned memory, has the answer when
  /// the device is through.
  void begin_compare(const Copy& copy, const Portion& portion, CheckCounters* found) const;
  /// Waits for that; what has come to host memory is compared here.
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
