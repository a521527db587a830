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

/// A buffer of one endpoint, in device or host memory.
class Buffer {
 public:
  /// Replaces the memory unless it has `bytes` bytes. Throws CudaError if the device has too little free memory,
  /// BadInput if the host has too little.
  void reserve(const Endpoint& endpoint, std::uint64_t bytes, HostMemoryKind kind);
  std::uint64_t bytes() const { return capacity_; }
  /// The ring of pointers in the buffer, until it is overwritten.
  struct Ring {
    const std::byte* at = nullptr;
    std::uint64_t bytes = 0;
    bool operator==(const Ring&) const = default;
  } ring;
  bool patterned = false;  ///< whether the buffer contains the pattern of source_seed()
  /// Records that ring and pattern were overwritten.
  void write_over() { ring = {}, patterned = false; }

  /// Replaces the memory by memory that is shared with other processes.
  void take(SharedMemory memory) { shared_ = std::move(memory); }
  /// Releases shared memory.
  void forget() { shared_ = SharedMemory(); }
  std::byte* data() const { return shared_ ? shared_.data() : device_ ? device_.get() : host_.data(); }

 private:
  DeviceMemory device_;
  SharedMemory shared_;
  HostMemory host_;
  Registration pinned_;  ///< registration of host_; destroyed first
  std::uint64_t capacity_ = 0;
};

/// Returns the seconds from one past event to another of the same device; may be negative.
inline double seconds_between(const Event& from, const Event& to, const std::string& where) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), where, "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

/// A stream with the events that time it.
struct Lane {
  Stream stream;
  Event start, stop;
  std::vector<Event> marks;  ///< ends of single transfers of a background copy

  /// Returns the seconds from start to stop, after both events.
  double seconds(const std::string& where) const { return seconds_between(start, stop, where); }
};

/// State of one endpoint during a run. For host memory, only the buffers are used.
struct EndpointState {
  explicit EndpointState(Endpoint e) : endpoint{std::move(e)} {}

  Endpoint endpoint;
  std::map<int, Buffer> source, destination;  ///< buffers by slot
  std::deque<Lane> lanes;                     ///< one per concurrent copy of the device
  std::optional<Lane> answers;                ///< stream for answers of flag and visibility tests
  DeviceMemory counters;                      ///< CheckCounters, and state of chains
  std::uint64_t chased = 0;                   ///< number of loads of the last chase
  HandoverTerms terms{};                      ///< terms of the last visibility test
  std::optional<std::string> lost;            ///< why the endpoint is lost; nothing: it is available
  LossKind loss = LossKind::device;           ///< type of the loss
  bool broken = false;                        ///< whether the device hangs or lost its context: no further calls

  /// Offsets in `counters`, and its size, in bytes.
  static constexpr std::size_t sink_at = 64, chase_at = 128, handovers_at = 192, counters_bytes = 320;

  const std::string& where() const { return endpoint.label; }
  bool is_device() const { return endpoint.kind == EndpointKind::device; }
  void use() const { cuda::use(endpoint.index, endpoint.label); }
  Lane& lane(std::size_t index);
  Lane& answer_lane();
  CheckCounters* check_counters() const { return reinterpret_cast<CheckCounters*>(counters.get()); }
  unsigned long long* sink() const { return reinterpret_cast<unsigned long long*>(counters.get() + sink_at); }
  ChaseState* chase_state() const { return reinterpret_cast<ChaseState*>(counters.get() + chase_at); }
  /// Returns the result of one side of a visibility test. answers_it: the side of the answering device, else of the
  /// executing device.
  HandoverEnd* handover_end(bool answers_it) const {
    static_assert(handovers_at + 2 * sizeof(HandoverEnd) <= counters_bytes);
    return reinterpret_cast<HandoverEnd*>(counters.get() + handovers_at) + (answers_it ? 1 : 0);
  }
  /// Allocates `counters`, zeroed.
  void make_counters();
};

/// Returns the free bytes of a device. Throws CudaError.
std::uint64_t free_memory(const EndpointState& at);

/// Calls `work` for every endpoint concurrently, each on its own thread. Returns one exception per endpoint; null:
/// none.
std::vector<std::exception_ptr> for_each_concurrently(std::span<EndpointState> endpoint_states,
                                                      const std::function<void(EndpointState&)>& work);

/// As fill_pattern(), memset with poison_byte, and check_portion(), with several threads.
void fill_on_host(std::byte* memory, std::uint64_t bytes, std::uint64_t seed);
void poison_on_host(std::byte* memory, std::uint64_t bytes);
PatternCheck check_on_host(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed, std::uint64_t ahead = 0,
                           const Portion& portion = {});

}  // namespace linkmatrix::cuda
