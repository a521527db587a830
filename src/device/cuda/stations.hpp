#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/pattern.hpp"
#include "core/topology.hpp"
#include "device/cuda/chains.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/kernels.hpp"
#include "device/host/memory.hpp"

namespace linkmatrix::cuda {

/// Memory of one endpoint for one role, grown when more is asked for; on the device, or on the host.
class Buffer {
 public:
  /// Throws BadInput where the endpoint has not that much free.
  void reserve(const Endpoint& endpoint, std::uint64_t bytes, HostMemoryKind kind);
  /// Of a device of another process, opened here.
  void import(const cudaIpcMemHandle_t& handle, const std::string& where);
  void forget() { imported_ = Import(); }
  std::byte* data() const { return device_ ? device_.get() : imported_ ? imported_.get() : host_.data(); }

 private:
  DeviceMemory device_;
  Import imported_;
  HostMemory host_;
  Registration pinned_;  ///< of host_: goes first
  std::uint64_t capacity_ = 0;
};

/// A stream with the events that time what runs in it.
struct Lane {
  Stream stream;
  Event start, stop;

  /// Between the two events, which must have happened.
  double seconds(const std::string& where) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()), where, "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }
};

/// What one endpoint keeps for the whole run. Host memory has buffers only.
struct Station {
  explicit Station(Endpoint e) : endpoint{std::move(e)} {}

  Endpoint endpoint;
  std::map<int, Buffer> source, destination;  ///< by slot
  std::vector<Lane> lanes;                    ///< one for each copy that the device executes at once
  std::optional<Lane> answers;                ///< for the other end of a flag
  std::set<int> reaches;                      ///< ordinals of the devices whose memory it has peer access to
  DeviceMemory counters;                      ///< a CheckCounters for verification, and what chains leave behind
  std::uint64_t chased = 0;                   ///< loads of the last chase

  static constexpr std::size_t sink_at = 64, chase_at = 128, counters_bytes = 256;

  const std::string& where() const { return endpoint.label; }
  bool is_device() const { return endpoint.kind == EndpointKind::device; }
  void use() const { cuda::use(endpoint.index, endpoint.label); }
  Lane& lane(std::size_t index);
  Lane& answer_lane();
  CheckCounters* check_counters() const { return reinterpret_cast<CheckCounters*>(counters.get()); }
  unsigned long long* sink() const { return reinterpret_cast<unsigned long long*>(counters.get() + sink_at); }
  ChaseState* chase_state() const { return reinterpret_cast<ChaseState*>(counters.get() + chase_at); }
  /// Memory for all of these, zeroed.
  void make_counters();
};

/// Calls `work` for every station at once, each on a thread of its own, and throws the first exception of any.
void for_each_at_once(std::span<Station> stations, const std::function<void(Station&)>& work);

/// Writes, or compares, the verification pattern in host memory by several threads.
void fill_on_host(std::byte* memory, std::uint64_t bytes, std::uint64_t seed);
void spoil_on_host(std::byte* memory, std::uint64_t bytes);
PatternCheck check_on_host(const std::byte* memory, std::uint64_t bytes, std::uint64_t seed);

}  // namespace linkmatrix::cuda
