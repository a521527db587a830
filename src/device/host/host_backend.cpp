#include "device/host/host_backend.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>

#include "device/host/copy_kernels.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/memory.hpp"
#include "device/host/numa.hpp"
#include "device/host/pointer_ring.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_core_devices = 8;
constexpr std::uint64_t piece_bytes = 64 * MiB;   // between two looks at the stop flag
constexpr std::uint64_t bounce_bytes = 1 * MiB;   // of a staged copy: fits a private cache
constexpr std::uint64_t small_bytes = 4 * KiB;    // up to here one transfer is too short for a clock …
constexpr int small_batch = 1000;                 // … and so many make one repeat
constexpr int first_memory_controller = 1 << 20;  // resource numbers: cores below, NUMA nodes above

/// What one endpoint keeps for the whole run. NUMA memory has no worker: the device at the other end copies.
struct Station {
  Endpoint endpoint;
  std::vector<int> cores;
  std::unique_ptr<Worker> worker;
  HostMemory source, destination, bounce;
  const std::byte* ring_at = nullptr;  ///< where the last chase through `source` ended; nothing: it holds no ring
};

std::vector<Station> device_stations() {
  const auto nodes = numa_nodes();
  const std::string host = host_facts().name;
  std::vector<Station> stations;
  const auto add = [&](int numa, std::vector<int> cores, const std::string& name) {
    Station station;
    station.endpoint.index = static_cast<int>(stations.size());
    station.endpoint.label = "cpu" + std::to_string(station.endpoint.index);
    station.endpoint.name = name;
    station.endpoint.node = host;
    station.endpoint.numa = numa;
    station.cores = std::move(cores);
    stations.push_back(std::move(station));
  };
  if (nodes.size() > 1) {
    for (const NumaNode& node : nodes)
      add(node.id, node.cores, "NUMA node " + std::to_string(node.id) + ", cores " + cpu_list_text(node.cores));
    return stations;
  }
  std::vector<int> cores = nodes.front().cores;
  if (cores.size() == 1) cores.push_back(cores.front());
  cores.resize(std::min(cores.size(), most_core_devices));
  const bool shared = cores.front() == cores.back();
  for (const int core : cores)
    add(nodes.front().id, {core}, "core " + std::to_string(core) + (shared ? ", the only one, shared" : ""));
  return stations;
}

std::vector<Station> choose_stations(std::span<const int> wanted) {
  std::vector<Station> all = device_stations();
  if (wanted.empty()) return all;
  std::vector<Station> chosen;
  for (const int device : wanted) {
    if (device < 0 || device >= static_cast<int>(all.size()))
      throw BadInput("--devices: there is no device " + std::to_string(device) + ", there are 0 to " +
                     std::to_string(all.size() - 1));
    if (std::count(wanted.begin(), wanted.end(), device) > 1)
      throw BadInput("--devices names device " + std::to_string(device) + " twice: name each once");
    chosen.push_back(std::move(all[static_cast<std::size_t>(device)]));
  }
  return chosen;
}

Topology topology_of(const std::vector<Station>& stations) {
  const std::size_t n = stations.size();
  Topology t{Matrix<std::string>(n, n, "X"), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n, true),
             Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
  for (std::size_t a = 0; a < n; ++a) {
    t.min_path(a, a) = 0;
    for (std::size_t b = 0; b < n; ++b)
      if (a != b) t.link_class(a, b) = stations[a].endpoint.numa == stations[b].endpoint.numa ? "CORE" : "SYS";
  }
  return t;
}

/// What one call of `run` shares with its workers, which may outlive it when a deadline passes.
struct Run {
  std::atomic<std::size_t> armed = 0;
  std::atomic<bool> open = false, stop = false;
};

class HostBackend final : public Backend {
 public:
  explicit HostBackend(std::span<const int> devices) : stations_{choose_stations(devices)} {
    topology_ = topology_of(stations_);
    for (Station& station : stations_) station.worker = std::make_unique<Worker>(station.cores);
    for (Endpoint& memory : host_memory_endpoints()) {
      stations_.emplace_back();
      stations_.back().endpoint = std::move(memory);
    }
    for (const Station& station : stations_) endpoints_.push_back(station.endpoint);
    software_ = {{"compiler", compiler_version()}, {"kernel", kernel_release()}};
  }

  ~HostBackend() override {
    if (last_run_) last_run_->stop = true;
    for (Station& station : stations_) station.worker.reset();  // all end before any memory goes
  }

  std::string name() const override { return "host"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  std::uint64_t chase_bytes() const override { return 256 * MiB; }

  std::optional<std::string> refusal(const Copy& copy) const override {
    if (copy.engine == Engine::mpi) return "ranks come with mpirun, and with --backend mpi";
    return std::nullopt;
  }

  std::vector<int> resources(const Copy& copy) const override {
    std::set<int> out;
    for (const int end : {copy.source, copy.destination}) {
      const Station& at = stations_[static_cast<std::size_t>(end)];
      out.insert(at.cores.begin(), at.cores.end());
      out.insert(first_memory_controller + at.endpoint.numa);
    }
    return {out.begin(), out.end()};
  }

  void prepare(std::span<const Copy> copies, std::uint64_t bytes, Deadline deadline) override {
    for (const Copy& copy : copies) {
      touch(station(copy.source), &Station::source, bytes, deadline);
      touch(station(copy.destination), &Station::destination, bytes, deadline);
      if (!copy.peer_access) touch(executor(copy), &Station::bounce, bounce_bytes, deadline);
    }
    for (const Copy& copy : copies)
      if (copy.operation == Operation::chase) lay_ring(copy);
  }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    for (const Copy& copy : copies)
      if (copy.operation == Operation::chase && station(copy.source).ring_at == nullptr) lay_ring(copy);
    const auto run = last_run_ = std::make_shared<Run>();
    const auto times = std::make_shared<std::vector<CopyTime>>(copies.size());
    std::map<Station*, std::vector<std::size_t>> work;  // a worker with several copies makes them in turn
    for (std::size_t k = 0; k < copies.size(); ++k) work[&executor(copies[k])].push_back(k);
    for (auto& [on, mine] : work)
      on->worker->start([this, run, times, mine = mine, repeats, deadline, own = own_copies(copies, mine)] {
        ++run->armed;
        while (!run->open && !run->stop && !deadline.passed()) std::this_thread::yield();
        const double seconds = timed(own, repeats, *run);
        for (const std::size_t k : mine) (*times)[k].seconds = seconds;
      });
    while (run->armed < work.size() && !deadline.passed()) std::this_thread::yield();
    run->open = true;
    for (auto& [on, mine] : work) await(*on, copies[mine.front()], deadline);
    return *times;
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    const auto run = last_run_ = std::make_shared<Run>();
    const auto checks = std::make_shared<std::vector<PatternCheck>>(copies.size());
    std::map<Station*, std::vector<std::size_t>> work;
    for (std::size_t k = 0; k < copies.size(); ++k) work[&executor(copies[k])].push_back(k);
    for (auto& [on, mine] : work)
      on->worker->start([this, run, checks, mine = mine, seed, own = own_copies(copies, mine)] {
        for (std::size_t i = 0; i < mine.size(); ++i) (*checks)[mine[i]] = verified(own[i], seed + mine[i], *run);
      });
    for (auto& [on, mine] : work) await(*on, copies[mine.front()], deadline);
    return *checks;
  }

 private:
  Station& station(int endpoint) { return stations_[static_cast<std::size_t>(endpoint)]; }

  /// The device whose worker copies: the initiator, or where that is NUMA memory, the other end.
  Station& executor(const Copy& copy) {
    Station& initiator = station(copy.initiator());
    if (initiator.worker) return initiator;
    return station(copy.source == copy.initiator() ? copy.destination : copy.source);
  }

  static std::vector<Copy> own_copies(std::span<const Copy> copies, const std::vector<std::size_t>& mine) {
    std::vector<Copy> own;
    for (const std::size_t k : mine) own.push_back(copies[k]);
    return own;
  }

  void await(Station& on, const Copy& copy, Deadline deadline) {
    if (on.worker->wait(deadline)) return;
    last_run_->stop = true;
    throw TimedOut(station(copy.source).endpoint.label + "->" + station(copy.destination).endpoint.label +
                   " did not finish within --timeout");
  }

  /// Memory is touched by its own worker, or on its own NUMA node, so that it lies there.
  void touch(Station& at, HostMemory Station::*memory, std::uint64_t bytes, Deadline deadline) {
    if ((at.*memory).bytes() >= bytes) return;
    if (!at.worker) {
      const NumaPin pin(at.endpoint.numa);
      reserve_here(at.*memory, bytes);
      return;
    }
    at.worker->start([&at, memory, bytes] { reserve_here(at.*memory, bytes); });
    if (!at.worker->wait(deadline)) throw TimedOut("the buffers of " + at.endpoint.label + " were not ready in time");
  }

  void lay_ring(const Copy& copy) {
    Station& at = station(copy.source);
    at.ring_at = at.source.data();
    build_ring(at.source.data(), copy.bytes);
  }

  /// What arrives of a pattern.
  PatternCheck verified(const Copy& copy, std::uint64_t seed, const Run& run) {
    std::byte* const source = station(copy.source).source.data();
    std::byte* const arrived = station(copy.destination).destination.data();
    station(copy.source).ring_at = nullptr;
    for (std::uint64_t at = 0; at < copy.bytes && !run.stop; at += piece_bytes) {
      const std::uint64_t piece = std::min(piece_bytes, copy.bytes - at);
      fill_pattern(source, at, piece, seed);
      std::memset(arrived + at, spoiled_byte, piece);
    }
    transfer(copy, run);
    PatternCheck all;
    for (std::uint64_t at = 0; at < copy.bytes && !run.stop; at += piece_bytes) {
      const PatternCheck found = check_pattern(arrived, at, std::min(piece_bytes, copy.bytes - at), seed);
      if (all.wrong_bytes == 0) all.first_wrong = found.first_wrong;
      all.wrong_bytes += found.wrong_bytes;
    }
    return all;
  }

  /// One transfer, in pieces, so that a stop is heard.
  void transfer(const Copy& copy, const Run& run) {
    const HostCopy move = host_copy(copy.engine, copy.kernel);
    std::byte* const destination = station(copy.destination).destination.data();
    const std::byte* const source = station(copy.source).source.data();
    const std::uint64_t step = copy.peer_access ? piece_bytes : bounce_bytes;
    for (std::uint64_t at = 0; at < copy.bytes && !run.stop; at += step) {
      const std::uint64_t piece = std::min(step, copy.bytes - at);
      if (copy.peer_access) {
        move(destination + at, source + at, piece);
        continue;
      }
      std::byte* const bounce = executor(copy).bounce.data();
      move(bounce, source + at, piece);
      move(destination + at, bounce, piece);
    }
  }

  /// Seconds of one transfer, or of one load. Several copies are made in turn, and each takes as long as all of them:
  /// a core that does both ways does them in one time.
  double timed(std::span<const Copy> copies, int repeats, const Run& run) {
    const auto start = Clock::now();
    if (copies.front().operation == Operation::chase) {
      Station& at = station(copies.front().source);
      const auto loads = static_cast<std::uint64_t>(repeats) * chase_loads_per_repeat;
      at.ring_at = chase(at.ring_at, loads);
      return seconds_since(start) / static_cast<double>(loads);
    }
    const int count = copies.front().bytes <= small_bytes ? repeats * small_batch : repeats;
    for (int i = 0; i < count && !run.stop; ++i)
      for (const Copy& copy : copies) {
        transfer(copy, run);
        asm volatile("" : : : "memory");  // a copy that was just made must be made again
      }
    return seconds_since(start) / count;
  }

  std::vector<Station> stations_;  ///< devices first, then NUMA memory: one for each endpoint
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  std::shared_ptr<Run> last_run_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(std::span<const int> devices) {
  return std::make_unique<HostBackend>(devices);
}

}  // namespace linkmatrix
