#include "device/host/host_backend.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "core/units.hpp"
#include "device/host/chains.hpp"
#include "device/host/copy_kernels.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/numa.hpp"
#include "device/host/stations.hpp"

namespace linkmatrix {
namespace {

using Station = HostStation;

constexpr std::uint64_t piece_bytes = 64 * MiB;   // between two looks at the stop flag
constexpr std::uint64_t bounce_bytes = 1 * MiB;   // of a staged copy: fits a private cache
constexpr std::uint64_t small_bytes = 4 * KiB;    // up to here one transfer is too short for a clock …
constexpr int small_batch = 1000;                 // … and so many make one repeat
constexpr int first_memory_controller = 1 << 20;  // resource numbers: cores below, NUMA nodes above

/// What one call of `run` shares with its workers, which may outlive it when a deadline passes.
struct Run {
  std::atomic<std::size_t> armed = 0, measured = 0;  ///< workers that wait for the gate; those that are not done
  std::atomic<bool> open = false, stop = false;
};

class HostBackend final : public Backend {
 public:
  HostBackend(std::span<const int> devices, bool huge_pages)
      : huge_pages_{huge_pages}, stations_{make_host_stations(devices)} {
    const auto count = static_cast<std::size_t>(std::count_if(
        stations_.begin(), stations_.end(), [](const Station& station) { return station.worker != nullptr; }));
    topology_ = host_topology(std::span(stations_).first(count));
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

  void prepare(std::span<const Copy> copies, Deadline deadline) override {
    for (const Copy& copy : copies) {
      touch(station(copy.source), station(copy.source).source[copy.source_slot], copy.end(), deadline);
      touch(station(copy.destination), station(copy.destination).destination[copy.destination_slot], copy.end(),
            deadline);
      if (!copy.peer_access) touch(executor(copy), executor(copy).bounce, bounce_bytes, deadline);
    }
    for (const Copy& copy : copies)
      if (copy.operation == Operation::chase) lay_ring(copy);
  }

  std::vector<CopyTime> run(std::span<const Copy> copies, int repeats, Deadline deadline) override {
    const auto run = last_run_ = std::make_shared<Run>();
    const auto times = std::make_shared<std::vector<CopyTime>>(copies.size());
    std::map<Station*, std::vector<std::size_t>> work = by_executor(copies);
    const std::vector<Copy> answers = set_up_chains(copies);
    run->measured = static_cast<std::size_t>(
        std::count_if(work.begin(), work.end(), [&](const auto& item) { return is_measured(copies, item.second); }));
    for (auto& [on, mine] : work)
      on->worker->start([this, run, times, mine = mine, repeats, deadline, own = own_copies(copies, mine)] {
        wait_for_gate(*run, deadline);
        const double seconds = own.front().background ? keep_busy(own, *run) : timed(own, repeats, *run);
        for (const std::size_t k : mine) (*times)[k].seconds = seconds;
      });
    for (const Copy& copy : answers)
      station(copy.destination).worker->start([this, run, copy, repeats, deadline] {
        wait_for_gate(*run, deadline);
        answer(destination(copy), source(copy), accesses(repeats), run->stop);
      });
    while (run->armed < work.size() + answers.size() && !deadline.passed()) std::this_thread::yield();
    run->open = true;
    for (auto& [on, mine] : work) await(*on, copies[mine.front()], deadline);
    for (const Copy& copy : answers) await(station(copy.destination), copy, deadline);
    return *times;
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    const auto run = last_run_ = std::make_shared<Run>();
    const auto checks = std::make_shared<std::vector<PatternCheck>>(copies.size());
    std::map<Station*, std::vector<std::size_t>> work = by_executor(copies);
    for (auto& [on, mine] : work)
      on->worker->start([this, run, checks, mine = mine, seed, own = own_copies(copies, mine)] {
        for (std::size_t i = 0; i < mine.size(); ++i) (*checks)[mine[i]] = verified(own[i], seed + mine[i], *run);
      });
    for (auto& [on, mine] : work) await(*on, copies[mine.front()], deadline);
    return *checks;
  }

 private:
  Station& station(int endpoint) { return stations_[static_cast<std::size_t>(endpoint)]; }
  std::byte* source(const Copy& copy) { return station(copy.source).source.at(copy.source_slot).data() + copy.offset; }
  std::byte* destination(const Copy& copy) {
    return station(copy.destination).destination.at(copy.destination_slot).data() + copy.offset;
  }

  /// The device whose worker copies: the initiator, or where that is NUMA memory, the other end.
  Station& executor(const Copy& copy) {
    Station& initiator = station(copy.initiator());
    if (initiator.worker) return initiator;
    return station(copy.source == copy.initiator() ? copy.destination : copy.source);
  }

  /// A worker with several copies makes them in turn.
  std::map<Station*, std::vector<std::size_t>> by_executor(std::span<const Copy> copies) {
    std::map<Station*, std::vector<std::size_t>> work;
    for (std::size_t k = 0; k < copies.size(); ++k) work[&executor(copies[k])].push_back(k);
    // The measured ones first: they say what the worker does.
    for (auto& [on, mine] : work)
      std::stable_partition(mine.begin(), mine.end(), [&](std::size_t k) { return !copies[k].background; });
    return work;
  }

  static bool is_measured(std::span<const Copy> copies, const std::vector<std::size_t>& mine) {
    return !copies[mine.front()].background;
  }

  static std::vector<Copy> own_copies(std::span<const Copy> copies, const std::vector<std::size_t>& mine) {
    std::vector<Copy> own;
    for (const std::size_t k : mine) own.push_back(copies[k]);
    return own;
  }

  /// Rings that a verification wrote over are laid anew, flags put down; returns the copies that the other end answers.
  std::vector<Copy> set_up_chains(std::span<const Copy> copies) {
    std::vector<Copy> answers;
    for (const Copy& copy : copies) {
      if (copy.operation == Operation::chase && station(copy.source).ring_at == nullptr) lay_ring(copy);
      if (copy.operation != Operation::flag) continue;
      std::memset(source(copy), 0, sizeof(std::uint64_t));
      std::memset(destination(copy), 0, sizeof(std::uint64_t));
      answers.push_back(copy);
    }
    return answers;
  }

  static void wait_for_gate(Run& run, Deadline deadline) {
    ++run.armed;
    while (!run.open && !run.stop && !deadline.passed()) std::this_thread::yield();
  }

  void await(Station& on, const Copy& copy, Deadline deadline) {
    if (on.worker->wait(deadline)) return;
    last_run_->stop = true;
    throw TimedOut(station(copy.source).endpoint.label + "->" + station(copy.destination).endpoint.label +
                   " did not finish within --timeout");
  }

  /// Memory is touched by its own worker, or on its own NUMA node, so that it lies there.
  void touch(Station& at, HostMemory& memory, std::uint64_t bytes, Deadline deadline) {
    if (memory.bytes() >= bytes) return;
    if (!at.worker) {
      const NumaPin pin(at.endpoint.numa);
      reserve_here(memory, bytes, huge_pages_);
      return;
    }
    at.worker->start([this, &memory, bytes] { reserve_here(memory, bytes, huge_pages_); });
    if (!at.worker->wait(deadline)) throw TimedOut("the buffers of " + at.endpoint.label + " were not ready in time");
  }

  void lay_ring(const Copy& copy) {
    station(copy.source).ring_at = source(copy);
    build_ring(source(copy), copy.bytes);
  }

  /// What arrives of a pattern.
  PatternCheck verified(const Copy& copy, std::uint64_t seed, const Run& run) {
    std::byte* const arrived = destination(copy);
    station(copy.source).ring_at = nullptr;
    for (std::uint64_t at = 0; at < copy.bytes && !run.stop; at += piece_bytes) {
      const std::uint64_t piece = std::min(piece_bytes, copy.bytes - at);
      fill_pattern(source(copy), at, piece, seed);
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
    const std::uint64_t step = copy.peer_access ? piece_bytes : bounce_bytes;
    for (std::uint64_t at = 0; at < copy.bytes && !run.stop; at += step) {
      const std::uint64_t piece = std::min(step, copy.bytes - at);
      if (copy.peer_access) {
        move(destination(copy) + at, source(copy) + at, piece);
        continue;
      }
      std::byte* const bounce = executor(copy).bounce.data();
      move(bounce, source(copy) + at, piece);
      move(destination(copy) + at, bounce, piece);
    }
  }

  static std::uint64_t accesses(int repeats) { return static_cast<std::uint64_t>(repeats) * accesses_per_repeat; }

  /// Seconds of one access of a chain.
  double timed_chain(const Copy& copy, int repeats, const Run& run) {
    Station& at = station(copy.source);
    const auto start = Clock::now();
    if (copy.operation == Operation::chase) at.ring_at = chase(at.ring_at, accesses(repeats));
    if (copy.operation == Operation::atomic) add_atomically(source(copy), accesses(repeats));
    if (copy.operation == Operation::flag) serve(destination(copy), source(copy), accesses(repeats), run.stop);
    return seconds_since(start) / static_cast<double>(accesses(repeats));
  }

  /// Seconds of one transfer, or of one access. Several copies are made in turn, and each takes as long as all of them:
  /// a core that does both ways does them in one time.
  double timed(std::span<const Copy> copies, int repeats, Run& run) {
    double seconds = 0;
    if (copies.front().is_chain()) {
      seconds = timed_chain(copies.front(), repeats, run);
    } else {
      const int count = copies.front().bytes <= small_bytes ? repeats * small_batch : repeats;
      const auto start = Clock::now();
      for (int i = 0; i < count && !run.stop; ++i) transfer_all(copies, run);
      seconds = seconds_since(start) / count;
    }
    --run.measured;
    return seconds;
  }

  /// Copies until all that are measured are done.
  double keep_busy(std::span<const Copy> copies, const Run& run) {
    const auto start = Clock::now();
    int count = 0;
    for (; run.measured > 0 && !run.stop; ++count) transfer_all(copies, run);
    return seconds_since(start) / std::max(count, 1);
  }

  void transfer_all(std::span<const Copy> copies, const Run& run) {
    for (const Copy& copy : copies) {
      transfer(copy, run);
      asm volatile("" : : : "memory");  // a copy that was just made must be made again
    }
  }

  bool huge_pages_;
  std::vector<Station> stations_;  ///< devices first, then NUMA memory: one for each endpoint
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  std::shared_ptr<Run> last_run_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(std::span<const int> devices, bool huge_pages) {
  return std::make_unique<HostBackend>(devices, huge_pages);
}

}  // namespace linkmatrix
