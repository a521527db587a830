#include "device/cuda/cuda_backend.hpp"

#include <algorithm>
#include <future>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "device/cuda/chains.hpp"
#include "device/cuda/copy_work.hpp"
#include "device/cuda/discovery.hpp"
#include "device/cuda/gate.hpp"
#include "device/cuda/health.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/stations.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace cuda {
namespace {

constexpr int gate_attempts = 3;
constexpr std::uint64_t least_buffer = 64 * KiB;
constexpr int host_paths = 1 << 20;  // resource number of everything that goes through host memory
constexpr int least_background = 2;  // repeats of a background copy for each of a measured one, …
constexpr int most_background = 8;   // … raised to this while it ends too early; a gate holds no more

std::vector<int> choose_devices(std::span<const int> wanted) {
  std::string reason;
  const int count = visible_devices(reason);
  if (count == 0) throw DeviceError(reason + "; --backend host measures host memory");
  if (wanted.empty()) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  for (const int device : wanted)
    if (device >= count)
      throw BadInput("--devices: there is no device " + std::to_string(device) + ", there are 0 to " +
                     std::to_string(count - 1));
  return {wanted.begin(), wanted.end()};
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::span<const int> wanted, HostMemoryKind host_memory) : host_memory_{host_memory} {
    std::vector<Endpoint> devices = describe_devices(choose_devices(wanted));
    // The driver's tables are read while the contexts come up.
    auto discovered = std::async(std::launch::async, [this, &devices] {
      health_.emplace(nvml_.emplace(), devices);
      return std::pair(discover_topology(*nvml_, devices), describe_software(*nvml_));
    });
    for (const Endpoint& device : devices) stations_.emplace_back(device);
    device_count_ = stations_.size();
    for_each_at_once(device_stations(), bring_up);
    std::tie(topology_, software_) = discovered.get();
    for (Station& station : device_stations()) read_limits(*nvml_, station.endpoint);
    for (const Endpoint& memory : host_memory_endpoints()) stations_.emplace_back(memory);
    for (const Station& station : stations_) endpoints_.push_back(station.endpoint);
    gate_.emplace(stations_.front().where());
  }

  /// A device's context, and with it its peer access, lives as long as the process: the next back end finds none.
  ~CudaBackend() override {
    for (const Station& station : device_stations())
      for (const int peer : station.reaches)
        if (cudaSetDevice(station.endpoint.index) == cudaSuccess) cudaDeviceDisablePeerAccess(peer);
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  std::string name() const override { return "cuda"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }

  std::optional<std::string> refusal(const Copy& copy) const override {
    if (copy.engine == Engine::mpi) return "ranks come with mpirun, and with --backend mpi";
    if (copy.engine == Engine::sm && !copy.peer_access)
      return "a kernel cannot reach another device's memory without peer access: use --engine ce";
    if (work_.with_host(copy) && copy.engine == Engine::sm && host_memory_.pages == HostPages::pageable)
      return "a kernel cannot reach pageable host memory: use --host-memory pinned, or --engine ce";
    return std::nullopt;
  }

  /// A device takes part in one copy at a time: source and destination alike. Whatever crosses host memory shares it.
  std::vector<int> resources(const Copy& copy) const override {
    std::set<int> out;
    for (const int end : {copy.source, copy.destination})
      out.insert(stations_[static_cast<std::size_t>(end)].is_device() ? end : host_paths);
    if (!copy.peer_access) out.insert(host_paths);
    return {out.begin(), out.end()};
  }

  void prepare(std::span<const Copy> copies, Deadline) override {
    using Needs = std::map<std::pair<int, int>, std::uint64_t>;  // (endpoint, slot): bytes
    Needs sources, destinations;
    const auto need = [](Needs& needs, int endpoint, int slot, const Copy& copy) {
      std::uint64_t& bytes = needs[{endpoint, slot}];
      bytes = std::max({bytes, copy.end(), least_buffer});
    };
    for (const Copy& copy : copies) {
      need(sources, copy.source, copy.source_slot, copy);
      need(destinations, copy.destination, copy.destination_slot, copy);
    }
    background_ = least_background;
    set_peer_access(copies);
    for_each_at_once(stations_, [&](Station& station) {
      const int me = static_cast<int>(&station - stations_.data());
      if (station.is_device()) station.use();
      const auto reserve = [&](const Needs& needs, std::map<int, Buffer>& buffers) {
        for (const auto& [at, bytes] : needs)
          if (at.first == me) buffers[at.second].reserve(station.endpoint, bytes, host_memory_);
      };
      reserve(sources, station.source);
      reserve(destinations, station.destination);
    });
    for (const Copy& copy : copies)
      if (copy.operation == Operation::chase) work_.build_ring(copy);
  }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    for (int attempt = 0; attempt < gate_attempts;) {
      std::vector<CopyTime> times = run_gated(copies, repeats, deadline);
      if (gate_->timed_out())
        ++attempt;
      else if (background_ < most_background && background_ended_early(copies, times))
        background_ *= 2;
      else
        return times;
    }
    throw DeviceError("the gate of " + work_.pair_text(copies.front()) + " timed out " + std::to_string(gate_attempts) +
                      " times: the host does not get to enqueue; is the machine overloaded?");
  }

  std::vector<DeviceState> device_states() override { return health_->states(); }
  std::vector<std::string> throttle_reasons() override { return health_->throttle_reasons(); }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    for (std::size_t k = 0; k < copies.size(); ++k) {
      work_.fill(copies[k], seed + k);
      work_.spoil(copies[k]);
    }
    std::vector<Copy> once(copies.begin(), copies.end());
    for (Copy& copy : once) copy.operation = Operation::copy;  // a chain is verified by a copy over the same path
    work_.for_each_lane(once, [&](std::size_t k, Station& station, Lane& lane) {
      work_.enqueue(once[k], station, lane, 1, 1, *gate_);
      check(cudaEventRecord(lane.stop.get(), lane.stream.get()), station.where(), "cudaEventRecord");
    });
    work_.wait(once, deadline);
    std::vector<PatternCheck> checks;
    for (std::size_t k = 0; k < copies.size(); ++k) checks.push_back(work_.compare(copies[k], seed + k));
    return checks;
  }

 private:
  static void bring_up(Station& station) {
    station.use();
    check(cudaFree(nullptr), station.where(), "context");
    load_kernels();
    load_chain_kernels();
    station.lane(0);
    station.make_counters();
  }

  std::span<Station> device_stations() { return std::span(stations_).first(device_count_); }
  Station& station(int endpoint) { return stations_[static_cast<std::size_t>(endpoint)]; }
  /// Turns peer access on or off, as the copies want it, both ways for each pair.
  void set_peer_access(std::span<const Copy> copies) {
    std::map<std::pair<int, int>, bool> wanted;
    for (const Copy& copy : copies) {
      if (!station(copy.source).is_device() || !station(copy.destination).is_device()) continue;
      if (copy.source == copy.destination) continue;
      wanted[{copy.source, copy.destination}] = wanted[{copy.destination, copy.source}] = copy.peer_access;
    }
    for_each_at_once(device_stations(), [&](Station& from) {
      from.use();
      const int me = static_cast<int>(&from - stations_.data());
      for (const auto& [pair, on] : wanted)
        if (pair.first == me) switch_peer_access(from, station(pair.second), on);
    });
  }

  static void switch_peer_access(Station& from, const Station& to, bool on) {
    const int peer = to.endpoint.index;
    if (from.reaches.contains(peer) == on) return;
    const std::string pair = from.where() + "->" + to.where();
    if (on) {
      check(cudaDeviceEnablePeerAccess(peer, 0), pair, "cudaDeviceEnablePeerAccess");
      from.reaches.insert(peer);
    } else {
      check(cudaDeviceDisablePeerAccess(peer), pair, "cudaDeviceDisablePeerAccess");
      from.reaches.erase(peer);
    }
  }

  static bool background_ended_early(std::span<const Copy> copies, const std::vector<CopyTime>& times) {
    double measured = 0;
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (!copies[k].background) measured = std::max(measured, times[k].whole_seconds);
    for (std::size_t k = 0; k < copies.size(); ++k)
      if (copies[k].background && times[k].whole_seconds < measured) return true;
    return false;
  }

  std::vector<CopyTime> run_gated(std::span<const Copy> copies, int repeats, Deadline deadline) {
    std::vector<CopyTime> times(copies.size());
    const bool flags = copies.front().operation == Operation::flag;
    for (std::size_t k = 0; flags && k < copies.size(); ++k) {
      work_.reset_source_flag(copies[k]);
      work_.reset_destination_flag(copies[k]);
    }
    {
      gate_->close();
      const Gate::Opener opener(*gate_);
      if (work_.staged(copies)) gate_->open();
      work_.for_each_lane(copies, [&](std::size_t k, Station& on, Lane& lane) {
        gate_->hold(lane.stream.get());
        check(cudaEventRecord(lane.start.get(), lane.stream.get()), on.where(), "cudaEventRecord");
        const auto begin = Clock::now();
        work_.enqueue(copies[k], on, lane, repeats, background_, *gate_);
        if (!copies[k].is_chain()) times[k].enqueue_seconds = seconds_since(begin) / repeats;
        check(cudaEventRecord(lane.stop.get(), lane.stream.get()), on.where(), "cudaEventRecord");
      });
      for (std::size_t k = 0; flags && k < copies.size(); ++k) work_.enqueue_answer(copies[k], repeats, *gate_);
    }
    work_.wait(copies, deadline);
    work_.for_each_lane(copies, [&](std::size_t k, Station& on, Lane& lane) {
      const double enqueue_seconds = times[k].enqueue_seconds;
      times[k] = work_.time(copies[k], on, lane, repeats, background_);
      times[k].enqueue_seconds = enqueue_seconds;
    });
    return times;
  }

  std::vector<Station> stations_;  ///< devices first, then host memory: one for each endpoint
  std::size_t device_count_ = 0;
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  HostMemoryKind host_memory_;
  std::optional<Gate> gate_;  ///< made when the contexts are up
  std::optional<Nvml> nvml_;
  std::optional<HealthReader> health_;
  CopyWork work_{stations_, host_memory_};
  int background_ = least_background;
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

}  // namespace linkmatrix
