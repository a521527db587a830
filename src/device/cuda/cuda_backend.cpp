#include "device/cuda/cuda_backend.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <set>
#include <tuple>

#include "device/cuda/copy_work.hpp"
#include "device/cuda/device_use.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/failures.hpp"
#include "device/cuda/heaters.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/launch_gate.hpp"
#include "device/cuda/own_context.hpp"
#include "device/cuda/peer_access.hpp"
#include "device/cuda/reservation.hpp"
#include "device/host/memory.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace cuda {
namespace {

constexpr std::size_t most_compared = 1024;  // maximum number of copies per call, as in LaunchGate
constexpr int host_paths = 1 << 20;          // resource number of all copies through host memory

/// Objects of devices that must not be used again. They are never destroyed, because freeing memory would block.
struct LeftAlone {
  std::vector<EndpointState> endpoint_states;
  std::vector<Buffer> buffers;
  std::vector<LaunchGate> gates;
  std::vector<Heaters> heaters;
  std::vector<PinnedMemory> pinned;
};
LeftAlone& left_alone() {
  static auto& things = *new LeftAlone;
  return things;
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::span<const int> wanted, HostMemoryKind host_memory) : host_memory_{host_memory} {
    std::vector<Endpoint> devices = describe_devices(choose_devices(wanted));
    for (const Endpoint& device : devices) endpoint_states_.emplace_back(device);
    device_count_ = endpoint_states_.size();
    NvmlUse use(nvml_.emplace(), devices);
    std::vector<OwnProcess> own(devices.size(), {OwnProcess::Listed::absent, 0});
    // Reads NVML while other threads create the contexts.
    auto discovered = std::async(std::launch::async, [this, &devices] {
      health_.emplace(*nvml_, devices);
      for (Endpoint& device : devices) read_limits(*nvml_, device), identify(*nvml_, device);
      return std::pair(discover_links(*nvml_, devices), describe_software(*nvml_));
    });
    const auto failures = for_each_concurrently(device_endpoint_states(), [&](EndpointState& endpoint_state) {
      const auto device = static_cast<std::size_t>(&endpoint_state - endpoint_states_.data());
      own[device] = make_own_context(endpoint_state.endpoint.index, endpoint_state.where(), use, device);
      bring_up(endpoint_state);
    });
    std::tie(topology_, software_) = discovered.get();
    poll_.emplace(*nvml_, devices, std::move(own));
    for (std::size_t d = 0; d < devices.size(); ++d) endpoint_states_[d].endpoint = devices[d];
    for (std::size_t d = 0; d < failures.size(); ++d)
      if (failures[d]) set_lost(endpoint_states_[d], failures[d]);
    home().use();
    add_reach(topology_, devices);
    for (const Endpoint& memory : host_memory_endpoints()) endpoint_states_.emplace_back(memory);
    for (const EndpointState& endpoint_state : endpoint_states_) endpoints_.push_back(endpoint_state.endpoint);
    gate_.emplace(home().where());
    found_ = make_pinned_memory(most_compared * sizeof(CheckCounters), home().where());
  }

  ~CudaBackend() override {
    if (!any_broken()) {
      peers_.all_off();
      return;
    }
    left_alone().gates.push_back(*std::move(gate_));
    left_alone().heaters.push_back(std::move(heaters_));
    left_alone().pinned.push_back(std::move(found_));
    for (EndpointState& endpoint_state : endpoint_states_)
      left_alone().endpoint_states.push_back(std::move(endpoint_state));
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  std::string name() const override { return "cuda"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  std::optional<std::string> lost(int endpoint) const override {
    return endpoint_states_[static_cast<std::size_t>(endpoint)].lost;
  }
  LossKind lost_kind(int endpoint) const override { return endpoint_states_[static_cast<std::size_t>(endpoint)].loss; }

  std::optional<HostPages> host_pages() const override { return host_memory_.pages; }

  std::optional<std::string> refusal(const Copy& copy) const override {
    if (copy.engine == Engine::mpi) return "ranks need mpirun and --backend mpi";
    if (copy.engine == Engine::sm && !copy.peer_access)
      return "a kernel cannot access the memory of another device without peer access: use --engine ce";
    if (work_.with_host(copy) && copy.engine == Engine::sm && host_memory_.pages == HostPages::pageable)
      return "a kernel cannot access pageable host memory: use --host-memory pinned, or --engine ce";
    return std::nullopt;
  }

  /// Returns the resources of a copy: egress of the source and ingress of the destination. Copies through host memory
  /// share
  /// one resource.
  std::vector<int> resources(const Copy& copy) const override {
    std::set<int> out;
    for (const int end : {copy.source, copy.destination})
      out.insert(endpoint_states_[static_cast<std::size_t>(end)].is_device() ? end : host_paths);
    if (!copy.peer_access) out.insert(host_paths);
    return {out.begin(), out.end()};
  }

  void prepare(std::span<const Copy> copies, Deadline) override {
    Failures failures(work_, copies, endpoint_states_);
    failures.refuse_lost();
    failures.guard_all([&] {
      const Reservation reservation(copies, endpoint_states_);
      const auto shortages = reservation.shortages(free_memory, available_memory(),
                                                   [this](const EndpointState& at) { return holders(at); });
      for (const auto& [endpoint, why] : shortages)
        failures.lacks_memory(endpoint_state(endpoint), why, loss_of_memory(endpoint_state(endpoint)));
      make_buffers(reservation, failures);
      std::map<PeerPair, bool> pairs;
      for (const Copy& copy : copies)
        for (const PeerPair& pair : peer_pairs(copy)) pairs[pair] = copy.peer_access;
      peers_.prepare(pairs);
    });
    failures.raise();
  }

  Timeline run(std::span<const Copy> copies, Deadline deadline) override {
    Failures failures(work_, copies, endpoint_states_);
    return failures.guard_all([&] {
      start_call(copies, failures, deadline);
      for (std::size_t k = 0; k < copies.size(); ++k)
        if (copies[k].is_chain())
          failures.guard(k, work_.executor(copies[k]), [&] { work_.set_up_chain(copies[k], deadline); });
      failures.raise();
      return work_.staged(copies) ? run_in_turn(work_, copies, failures, deadline)
                                  : run_gated(work_, *gate_, copies, failures, deadline);
    });
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    Failures failures(work_, copies, endpoint_states_);
    return failures.guard_all([&] {
      start_call(copies, failures, deadline);
      for (std::size_t k = 0; k < copies.size(); ++k) {
        failures.guard(k, endpoint_state(copies[k].source), [&] { work_.fill(copies[k], seed + k, deadline); });
        failures.guard(k, endpoint_state(copies[k].destination), [&] { work_.poison(copies[k], deadline); });
      }
      failures.raise();
      copy_once(work_, copies, failures, deadline);
      failures.raise();
      std::vector<PatternCheck> checks(copies.size());
      for (std::size_t k = 0; k < copies.size(); ++k)
        failures.guard(k, endpoint_state(copies[k].destination),
                       [&] { checks[k] = work_.compare(copies[k], seed + k, deadline); });
      failures.raise();
      return checks;
    });
  }

  bool compares_runs() const override { return true; }

  void lay_patterns(std::span<const Copy> copies, Deadline deadline) override {
    Failures failures(work_, copies, endpoint_states_);
    failures.guard_all([&] {
      start_call(copies, failures, deadline);
      for (std::size_t k = 0; k < copies.size(); ++k) {
        failures.guard(k, endpoint_state(copies[k].source), [&] { work_.lay_pattern(copies[k], deadline); });
        failures.guard(k, endpoint_state(copies[k].destination), [&] { work_.poison(copies[k], deadline); });
      }
      failures.raise();
    });
  }

  /// Compares on all devices concurrently.
  std::vector<PatternCheck> compare(std::span<const Copy> copies, const Portion& portion, Deadline deadline) override {
    Failures failures(work_, copies, endpoint_states_);
    return failures.guard_all([&] {
      start_call(copies, failures, deadline);
      const std::span<CheckCounters> found = found_of(copies.size());
      for (std::size_t k = 0; k < copies.size(); ++k)
        failures.guard(k, endpoint_state(copies[k].destination),
                       [&] { work_.begin_compare(copies[k], portion, &found[k]); });
      failures.raise();
      std::vector<PatternCheck> checks(copies.size());
      for (std::size_t k = 0; k < copies.size(); ++k)
        failures.guard(k, endpoint_state(copies[k].destination),
                       [&] { checks[k] = work_.end_compare(copies[k], portion, found[k], deadline); });
      failures.raise();
      return checks;
    });
  }

  std::vector<Heated> heat(double seconds, std::optional<int> flips, Deadline deadline) override {
    return heaters_.heat(device_endpoint_states(), seconds, flips, deadline);
  }

  std::vector<DeviceState> device_states() override { return health_->states(); }
  std::vector<std::string> throttle_reasons() override { return health_->throttle_reasons(); }
  Activity activity() override { return poll_->now(); }

 private:
  static void bring_up(EndpointState& endpoint_state) {
    load_kernels();
    load_chain_kernels();
    load_handover_kernels();
    endpoint_state.lane(0);
    endpoint_state.make_counters();
  }

  std::span<EndpointState> device_endpoint_states() { return std::span(endpoint_states_).first(device_count_); }
  EndpointState& endpoint_state(int endpoint) { return endpoint_states_[static_cast<std::size_t>(endpoint)]; }
  bool any_broken() const {
    return std::any_of(endpoint_states_.begin(), endpoint_states_.end(),
                       [](const EndpointState& endpoint_state) { return endpoint_state.broken; });
  }

  /// Returns an available device for calls that need any device, so that no other device gets a context.
  EndpointState& home() {
    std::string reasons;
    std::vector<std::string> held;  // devices whose memory other processes hold
    for (EndpointState& endpoint_state : device_endpoint_states()) {
      if (!endpoint_state.lost) return endpoint_state;
      reasons += (reasons.empty() ? "" : "; ") + *endpoint_state.lost;
      if (endpoint_state.loss == LossKind::memory) held.push_back(endpoint_state.where());
    }
    const std::string why = "no device is usable: " + reasons;
    if (held.size() == device_count_) throw MemoryHeld(why, held, poll_->now());
    throw DeviceError(why);
  }

  std::string holders(const EndpointState& at) const {
    const std::string holders = nvml_->memory_holders(at.endpoint.pci);
    return holders.empty() ? "" : "; " + holders;
  }

  /// Returns the kind of loss of a device with too little memory.
  LossKind loss_of_memory(const EndpointState& at) {
    const auto device = static_cast<std::size_t>(&at - endpoint_states_.data());
    return poll_->has_other_memory_holders(device) ? LossKind::memory : LossKind::device;
  }

  void set_lost(EndpointState& at, const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const CudaError& e) {
      at.lost = e.what() + holders(at);
      if (e.status() == cudaErrorMemoryAllocation) at.loss = loss_of_memory(at);
    } catch (const std::exception& e) {
      at.lost = e.what() + holders(at);
    }
  }

  /// Returns counters for the results of comparisons, one per copy of a call.
  std::span<CheckCounters> found_of(std::size_t copies) {
    if (copies > most_compared)
      throw DeviceError("at most " + std::to_string(most_compared) + " copies can run concurrently");
    return {reinterpret_cast<CheckCounters*>(found_.get()), copies};
  }

  void make_buffers(const Reservation& reservation, Failures& failures) {
    std::vector<std::vector<Buffer>> replaced(endpoint_states_.size());
    const bool keep = any_broken();  // freeing memory would wait for the broken device
    const auto failed = for_each_concurrently(endpoint_states_, [&](EndpointState& at) {
      if (at.lost) return;
      (at.is_device() ? at : home()).use();
      const auto me = static_cast<std::size_t>(&at - endpoint_states_.data());
      reservation.make(static_cast<int>(me), host_memory_, keep ? &replaced[me] : nullptr);
    });
    for (auto& buffers : replaced)
      for (Buffer& buffer : buffers) left_alone().buffers.push_back(std::move(buffer));
    for (std::size_t i = 0; i < failed.size(); ++i) {
      if (!failed[i]) continue;
      try {
        std::rethrow_exception(failed[i]);
      } catch (const CudaError& e) {
        if (!endpoint_states_[i].is_device() || e.status() != cudaErrorMemoryAllocation) throw;
        failures.lacks_memory(endpoint_states_[i], e.what() + holders(endpoint_states_[i]),
                              loss_of_memory(endpoint_states_[i]));
      }
    }
  }

  /// Returns both directions of a copy between two available devices.
  std::vector<PeerPair> peer_pairs(const Copy& copy) {
    const EndpointState &from = endpoint_state(copy.source), &to = endpoint_state(copy.destination);
    if (&from == &to || !from.is_device() || !to.is_device() || from.lost || to.lost) return {};
    return {{from.endpoint.index, to.endpoint.index}, {to.endpoint.index, from.endpoint.index}};
  }

  /// Begins a call: throws for lost devices or a passed deadline, and sets peer access as the copies need it.
  void start_call(std::span<const Copy> copies, Failures& failures, Deadline deadline) {
    failures.refuse_lost();
    failures.raise();
    for (std::size_t k = 0; deadline.passed() && k < copies.size(); ++k) failures.late(k);
    failures.raise();
    std::set<PeerPair> needed;
    for (const Copy& copy : copies)
      for (const PeerPair& pair : peer_pairs(copy))
        if (copy.peer_access) needed.insert(pair);
    for (std::size_t k = 0; k < copies.size(); ++k)
      failures.guard(k, work_.executor(copies[k]), [&] {
        for (const PeerPair& pair : peer_pairs(copies[k]))
          copies[k].peer_access ? peers_.turn_on(pair, needed) : peers_.turn_off(pair);
      });
    failures.raise();
  }

  std::vector<EndpointState> endpoint_states_;  ///< one per endpoint: devices, then host memory
  std::size_t device_count_ = 0;
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  HostMemoryKind host_memory_;
  std::optional<LaunchGate> gate_;  ///< created after the contexts
  std::optional<Nvml> nvml_;
  std::optional<HealthReader> health_;
  std::optional<DevicePoll> poll_;
  CopyWork work_{endpoint_states_, host_memory_};
  PeerAccess peers_;
  Heaters heaters_;
  PinnedMemory found_;  ///< results of comparisons
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices, HostMemoryKind host_memory) {
  return std::make_unique<cuda::CudaBackend>(devices, host_memory);
}

std::string why_no_cuda() {
  std::string reason;
  cuda::visible_devices(reason);
  return reason;
}

std::string why_hidden() { return cuda::why_hidden(); }

}  // namespace linkmatrix
