#include "device/cuda/cuda_backend.hpp"

#include <algorithm>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>

#include "device/cuda/discovery.hpp"
#include "device/cuda/gate.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/stations.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace cuda {
namespace {

constexpr int gate_attempts = 3;
constexpr std::size_t scratch_bytes = 256;
constexpr int host_paths = 1 << 20;  // resource number of everything that goes through host memory

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
  explicit CudaBackend(std::span<const int> wanted) {
    const std::vector<Endpoint> devices = describe_devices(choose_devices(wanted));
    // The driver's tables are read while the contexts come up.
    auto discovered = std::async(std::launch::async, [&devices] {
      const Nvml nvml;
      return std::pair(discover_topology(nvml, devices), describe_software(nvml));
    });
    for (const Endpoint& device : devices) stations_.emplace_back(device);
    device_count_ = stations_.size();
    for_each_at_once(device_stations(), bring_up);
    std::tie(topology_, software_) = discovered.get();
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

  void prepare(std::span<const Copy> copies, std::uint64_t bytes, Deadline) override {
    std::set<int> sources, destinations;
    for (const Copy& copy : copies) {
      sources.insert(copy.source);
      destinations.insert(copy.destination);
    }
    set_peer_access(copies);
    for_each_at_once(stations_, [&](Station& station) {
      const int me = static_cast<int>(&station - stations_.data());
      if (station.is_device()) station.use();
      if (sources.contains(me)) station.source.reserve(station.endpoint, bytes);
      if (destinations.contains(me)) station.destination.reserve(station.endpoint, bytes);
    });
    for (const Copy& copy : copies)
      if (copy.operation == Operation::chase) build_ring(copy);
    synchronize(copies);
  }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    for (int attempt = 0; attempt < gate_attempts; ++attempt) {
      std::vector<CopyTime> times = run_gated(copies, repeats, deadline);
      if (!gate_->timed_out()) return times;
    }
    throw DeviceError("the gate of " + pair_text(copies.front()) + " timed out " + std::to_string(gate_attempts) +
                      " times: the host does not get to enqueue; is the machine overloaded?");
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    for (std::size_t k = 0; k < copies.size(); ++k) fill_and_spoil(copies[k], seed + k);
    synchronize(copies);
    for_each_lane(copies, [&](std::size_t k, Station& station, Lane& lane) {
      Copy once = copies[k];
      once.operation = Operation::copy;  // a chase is verified by a copy over the same path
      enqueue(once, station, lane, 1);
      check(cudaEventRecord(lane.stop.get(), lane.stream.get()), station.where(), "cudaEventRecord");
    });
    wait(copies, deadline);
    std::vector<PatternCheck> checks;
    for (std::size_t k = 0; k < copies.size(); ++k) checks.push_back(compare(copies[k], seed + k));
    return checks;
  }

 private:
  static void bring_up(Station& station) {
    station.use();
    check(cudaFree(nullptr), station.where(), "context");
    load_kernels();
    station.lane(0);
    station.counters = make_device_memory(scratch_bytes, station.where());
  }

  std::span<Station> device_stations() { return std::span(stations_).first(device_count_); }
  Station& station(int endpoint) { return stations_[static_cast<std::size_t>(endpoint)]; }

  std::string pair_text(const Copy& copy) {
    return station(copy.source).where() + "->" + station(copy.destination).where();
  }

  /// The device that executes a copy: the initiator, or where that is host memory, the other end.
  Station& executor(const Copy& copy) {
    Station& initiator = station(copy.initiator());
    return initiator.is_device() ? initiator
                                 : station(copy.source == copy.initiator() ? copy.destination : copy.source);
  }

  /// Calls `work(k, station, lane)` for each copy on its executor, with a lane of its own.
  void for_each_lane(std::span<const Copy> copies, const auto& work) {
    std::map<Station*, std::size_t> taken;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      Station& on = executor(copies[k]);
      on.use();
      work(k, on, on.lane(taken[&on]++));
    }
  }

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

  /// The ring lies in the source's memory and is written by its owner; in host memory, by the device that chases.
  void build_ring(const Copy& copy) {
    Station& writer = station(copy.source).is_device() ? station(copy.source) : executor(copy);
    writer.use();
    launch_ring(station(copy.source).source.data(), copy.bytes, writer.lane(0).stream.get());
    check(cudaStreamSynchronize(writer.lane(0).stream.get()), writer.where(), "cudaStreamSynchronize");
  }

  void enqueue(const Copy& copy, Station& on, Lane& lane, int repeats) {
    std::byte* const destination = station(copy.destination).destination.data();
    const std::byte* const source = station(copy.source).source.data();
    if (copy.operation == Operation::chase) {
      launch_chase(source, static_cast<std::uint64_t>(repeats) * chase_loads_per_repeat, on.sink(), lane.stream.get());
      return;
    }
    for (int i = 0; i < repeats; ++i) {
      if (copy.engine == Engine::sm)
        launch_copy(copy.kernel, copy.direction, destination, source, copy.bytes, lane.stream.get());
      else
        check(cudaMemcpyAsync(destination, source, copy.bytes, cudaMemcpyDefault, lane.stream.get()), pair_text(copy),
              "cudaMemcpyAsync");
    }
  }

  std::vector<CopyTime> run_gated(std::span<const Copy> copies, int repeats, Deadline deadline) {
    std::vector<CopyTime> times(copies.size());
    {
      gate_->close();
      const Gate::Opener opener(*gate_);
      if (staged(copies)) gate_->open();
      for_each_lane(copies, [&](std::size_t k, Station& on, Lane& lane) {
        gate_->hold(lane.stream.get());
        check(cudaEventRecord(lane.start.get(), lane.stream.get()), on.where(), "cudaEventRecord");
        const auto begin = Clock::now();
        enqueue(copies[k], on, lane, repeats);
        if (copies[k].operation == Operation::copy) times[k].enqueue_seconds = seconds_since(begin) / repeats;
        check(cudaEventRecord(lane.stop.get(), lane.stream.get()), on.where(), "cudaEventRecord");
      });
    }
    wait(copies, deadline);
    for_each_lane(copies, [&](std::size_t k, Station& on, Lane& lane) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, lane.start.get(), lane.stop.get()), on.where(), "cudaEventElapsedTime");
      const bool chase = copies[k].operation == Operation::chase;
      times[k].seconds = milliseconds * 1e-3 / repeats / (chase ? chase_loads_per_repeat : 1);
    });
    return times;
  }

  /// A copy without peer access is moved piece by piece by the driver on the host, which waits for the device: behind a
  /// closed gate it would wait for ever. What the host does then belongs to the measured time.
  static bool staged(std::span<const Copy> copies) {
    return std::any_of(copies.begin(), copies.end(), [](const Copy& copy) { return !copy.peer_access; });
  }

  void wait(std::span<const Copy> copies, Deadline deadline) {
    for_each_lane(copies, [&](std::size_t k, Station&, Lane& lane) {
      cudaError_t status = cudaEventQuery(lane.stop.get());
      for (; status == cudaErrorNotReady; status = cudaEventQuery(lane.stop.get())) {
        if (deadline.passed()) throw TimedOut(pair_text(copies[k]) + " did not finish within --timeout");
        std::this_thread::yield();
      }
      check(status, pair_text(copies[k]), "copy");
    });
  }

  void synchronize(std::span<const Copy> copies) {
    std::set<Station*> all;
    for (const Copy& copy : copies)
      for (const int end : {copy.source, copy.destination})
        if (station(end).is_device()) all.insert(&station(end));
    for (Station* one : all) {
      one->use();
      check(cudaDeviceSynchronize(), one->where(), "cudaDeviceSynchronize");
    }
  }

  void fill_and_spoil(const Copy& copy, std::uint64_t seed) {
    Station& from = station(copy.source);
    Station& to = station(copy.destination);
    if (from.is_device()) {
      from.use();
      launch_fill(from.source.data(), copy.bytes, seed, from.lane(0).stream.get());
    } else {
      fill_on_host(from.source.data(), copy.bytes, seed);
    }
    if (to.is_device()) {
      to.use();
      check(cudaMemsetAsync(to.destination.data(), spoiled_byte, copy.bytes, to.lane(0).stream.get()), to.where(),
            "cudaMemsetAsync");
    } else {
      std::fill_n(to.destination.data(), copy.bytes, static_cast<std::byte>(spoiled_byte));
    }
  }

  PatternCheck compare(const Copy& copy, std::uint64_t seed) {
    Station& to = station(copy.destination);
    if (!to.is_device()) return check_on_host(to.destination.data(), copy.bytes, seed);
    to.use();
    const cudaStream_t stream = to.lane(0).stream.get();
    CheckCounters found{0, std::numeric_limits<unsigned long long>::max()};
    const auto move = [&](void* destination, const void* source) {
      check(cudaMemcpyAsync(destination, source, sizeof found, cudaMemcpyDefault, stream), to.where(),
            "cudaMemcpyAsync");
    };
    move(to.check_counters(), &found);
    launch_check(to.destination.data(), copy.bytes, seed, to.check_counters(), stream);
    move(&found, to.check_counters());
    check(cudaStreamSynchronize(stream), to.where(), "verification");
    return {found.wrong_bytes, found.first_wrong};
  }

  std::vector<Station> stations_;  ///< devices first, then host memory: one for each endpoint
  std::size_t device_count_ = 0;
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  std::optional<Gate> gate_;  ///< made when the contexts are up
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(std::span<const int> devices) {
  return std::make_unique<cuda::CudaBackend>(devices);
}

std::string why_no_cuda() {
  std::string reason;
  cuda::visible_devices(reason);
  return reason;
}

}  // namespace linkmatrix
