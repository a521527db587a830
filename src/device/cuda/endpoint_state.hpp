#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/pattern.hpp"
#include "core/topology.hpp"
#include "core/visibility.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/shared_memory.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix::cuda {

/// Memory of one endpoint for one role, grown when more is asked for; on the device, or on the host.
class Buffer {
 public:
  /// Throws CudaError where the device has not that much free, BadInput where the host has not.
  void reserve(const Endpoint& endpoint, std::uint64_t bytes, HostMemoryKind kind);
  std::uint64_t bytes() const { return capacity_; }
  /// What is laid into it besides bytes: a ring of pointers, from here on for so many bytes, until it is written over.
  struct Ring {
    const std::byte* at = nullptr;
    std::uint64_t bytes = 0;
    bool operator==(const Ring&) const = default;
  } ring;
  bool patterned = false;  ///< it holds the pattern of source_seed, until it is written over
  void write_over() { ring = {}, patterned = false; }
  /// Memory that processes share, made here or mapped.
  void take(SharedMemory memory) { shared_ = std::move(memory); }
  void forget() { shared_ = SharedMemory(); }
  std::byte* data() const { return shared_ ? shared_.data() : device_ ? device_.get() : host_.data(); }

 private:
  DeviceMemory device_;
  SharedMemory shared_;
  HostMemory host_;
  Registration pinned_;  ///< of host_: goes first
  std::uint64_t capacity_ = 0;
};

/// From one event to another of the same device, both of which must have happened; negative where they did so the other
/// way round.
inline double seconds_between(const Event& from, const Event& to, const std::string& where) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), where, "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

/// A stream with the events that time what runs in it.
struct Lane {
  Stream stream;
  Event start, stop;
  std::vector<Event> marks;  ///< of single transfers of a background copy

  /// Between the two events, which must have happened.
  double seconds(const std::string& where) const { return seconds_between(start, stop, where); }
};

/// What one endpoint keeps for the whole run. Host memory has buffers only.
struct EndpointState {
  explicit EndpointState(Endpoint e) : endpoint{std::move(e)} {}

  Endpoint endpoint;
  std::map<int, Buffer> source, destination;  ///< by slot
  std::deque<Lane> lanes;                     ///< one for each copy that the device executes at once
  std::optional<Lane> answers;                ///< for the other end of a flag
  DeviceMemory counters;                      ///< a CheckCounters for verification, and what chains leave behind
  std::uint64_t chased = 0;                   ///< loads of the last chase
  HandoverTerms terms{};                      ///< of the last visibility test that it executes
  std::optional<std::string> lost;            ///< why it takes no part, in words
  LossKind loss = LossKind::device;           ///< of a lost one
  bool broken = false;                        ///< it hangs, or its context is gone: nothing of it may be touched again

  static constexpr std::size_t sink_at = 64, chase_at = 128, handovers_at = 192, counters_bytes = 320;

  const std::string& where() const { return endpoint.label; }
  bool is_device() const { return endpoint.kind == EndpointKind::device; }
  void use() const { cuda::use(endpoint.index, endpoint.label); }
  Lane& lane(std::size_t index);
  Lane& answer_lane();
  CheckCounters* check_counters() const { return reinterpret_cast<CheckCounters*>(counters.get()); }
  unsigned long long* sink() const { return reinterpret_cast<unsigned long long*>(counters.get() + sink_at); }
  ChaseState* chase_state() const { return reinterpret_cast<ChaseState*>(counters.get() + chase_at); }
  /// What one side of a visibility test leaves: of a copy that the device executes, or answers.
  HandoverEnd* handover_end(bool answers_it) const {
    static_assert(handovers_at + 2 * sizeof(HandoverEnd) <= counters_bytes);
    return reinterpret_cast<HandoverEnd*>(counters.get() + handovers_at) + (answers_it ? 1 : 0);
  }
  /// Memory for all of these, zeroed.
  void make_counters();
};

/// Calls `work` for every station at once, each on a thread of its own. Returns what each threw; null: nothing.
std::vector<std::exception_ptr> each_at_once(std::span<EndpointState> endpoint_states,
                                             const std::function<void(EndpointState&)>& work);

/// Writes, or compares, the verification pattern in host memory by several threads.
void fill_on_host(std::byte* memory, std::uint64_t bytes, std::uint64_t seed);
void poison_on_host(std::byte* memory, std::uint64_t bytes);
PatternCheck check_on_host(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, std::uint64_t ahead = 0,
                           const Portion& portion = {});

}  // namespace linkmatrix::cuda
