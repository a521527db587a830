#include "device/host/host_backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/host/activity.hpp"
#include "device/host/buffers.hpp"
#include "device/host/caches.hpp"
#include "device/host/chains.hpp"
#include "device/host/endpoint_state.hpp"
#include "device/host/handovers.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/jobs.hpp"
#include "device/host/parts.hpp"
#include "device/host/team.hpp"

namespace linkmatrix {
namespace {

constexpr double rate_seconds = 0.01;  // duration of a run that determines the number of threads
constexpr int rate_runs = 3;           // number of such runs; the fastest is used
/// Longer than a thread may wait for its core.
constexpr HandoverTimes handover_times{.patience_ns = 5'000'000'000, .longest_ns = 250'000'000};

class HostBackend final : public Backend {
 public:
  HostBackend(std::span<const int> devices, bool huge_pages, const std::vector<NumaNode>& nodes)
      : huge_pages_{huge_pages}, endpoint_states_{make_host_endpoint_states(devices, nodes)} {
    const auto count =
        static_cast<std::size_t>(std::count_if(endpoint_states_.begin(), endpoint_states_.end(),
                                               [](const HostEndpointState& s) { return s.team != nullptr; }));
    topology_ = host_topology(std::span(endpoint_states_).first(count));
    for (const HostEndpointState& endpoint_state : endpoint_states_) endpoints_.push_back(endpoint_state.endpoint);
    software_ = {{"compiler", compiler_version()}, {"kernel", kernel_release()}};
    other_cores_ = unused_cores(nodes, std::span(endpoint_states_).first(count));
  }

  ~HostBackend() override {
    if (last_run_) last_run_->stop = true;
  }

  std::string name() const override { return "host"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  Activity activity() override {
    Activity now;
    processors_.add_node(now, endpoints_.front().node);
    return now;
  }

  std::uint64_t chase_bytes() const override { return own_working_set().chase; }

  std::optional<std::string> refusal(const Copy& copy) const override {
    if (copy.engine == Engine::mpi) return "ranks need mpirun and --backend mpi";
    return std::nullopt;
  }

  std::vector<int> resources(const Copy& copy) const override {
    return resources_of(endpoint_states_, {copy.source, copy.destination});
  }

  std::optional<std::string> lost(int endpoint) const override {
    return endpoint_states_.at(static_cast<std::size_t>(endpoint)).lost;
  }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks = buffer_remarks(endpoint_states_, huge_pages_);
    if (in_caches_)
      remarks.push_back(
          "the buffers are smaller than several last-level caches, so values may be those of caches: use a larger "
          "--size, or free memory");
    for (std::string& counted : path_threads_.remarks()) remarks.push_back(std::move(counted));
    for (const HostEndpointState& endpoint_state : endpoint_states_)
      if (endpoint_state.team && !endpoint_state.team->refused().empty())
        remarks.push_back(endpoint_state.endpoint.label + ": " + endpoint_state.team->refused());
    return remarks;
  }

  void prepare(std::span<const Copy> copies, Deadline deadline) override {
    refuse_lost(copies);
    reserve_buffers(endpoint_states_, copies, huge_pages_, deadline);
    for (HostEndpointState& at : endpoint_states_) at.patterned.clear();  // new buffers contain no pattern
    const WorkingSet& set = own_working_set();
    in_caches_ = set.is_memory_short && std::any_of(copies.begin(), copies.end(), [&](const Copy& copy) {
                   return copy.bytes == (copy.operation == Operation::chase ? set.chase : set.copy);
                 });
    for (const Copy& copy : copies) {
      if (copy.operation == Operation::chase) lay_ring(copy);
      if (!copy.is_chain()) path_threads_.determine(kind_of(copy), copy.bytes, [&] { return rate(copy, deadline); });
    }
  }

  Timeline run(std::span<const Copy> copies, Deadline deadline) override {
    refuse_lost(copies);
    const std::vector<HostPart> answers = set_up_chains(copies, deadline);
    const auto run = last_run_ = std::make_shared<HostRun>(deadline);
    std::vector<Job> jobs = jobs_of(copies);
    agree_on_terms(jobs, answers);
    run->measured = static_cast<std::size_t>(
        std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.is_measured(); }));
    run->absent = jobs.size() - run->measured;
    for (const Job& job : jobs) start(job, *run, [run, parts = job.parts] { time_parts(*parts, *run); });
    for (const HostPart& part : answers) {
      const auto [endpoint, thread] = answerer_of(part.copy);
      jobs.push_back({endpoint, thread, std::make_shared<std::vector<HostPart>>(1, part)});
      start(jobs.back(), *run, [run, parts = jobs.back().parts] { answer_part(parts->front(), *run); });
    }
    while (run->armed < jobs.size() && !deadline.passed()) std::this_thread::yield();
    run->open = true;
    await(jobs, copies, *run);
    const auto timed = std::span<const Job>(jobs).first(jobs.size() - answers.size());
    for (const Job& job : timed)
      for (const HostPart& part : *job.parts)
        if (part.copy.operation == Operation::chase) endpoint_state(part.copy.source).ring_at = part.ring_at;
    Timeline timeline = timeline_of(timed, copies.size());
    add_visibility(jobs, timeline);
    return timeline;
  }

  std::vector<PatternCheck> verify(std::span<const Copy> copies, std::uint64_t seed, Deadline deadline) override {
    refuse_lost(copies);
    const auto run = last_run_ = std::make_shared<HostRun>(deadline);
    const std::vector<Job> jobs = jobs_of(copies);
    for (const Copy& copy : copies) write_over(copy);
    for (const Job& job : jobs) start(job, *run, [run, parts = job.parts, seed] { move_pattern(*parts, seed, *run); });
    await(jobs, copies, *run);
    return compare(jobs, copies, run, [seed](auto& parts, HostRun& now) { compare_parts(parts, seed, now); });
  }

  bool compares_runs() const override { return true; }

  void lay_patterns(std::span<const Copy> copies, Deadline deadline) override {
    refuse_lost(copies);
    const auto run = last_run_ = std::make_shared<HostRun>(deadline);
    const std::vector<Job> jobs = jobs_of(copies);
    for (const Job& job : jobs) start(job, *run, [run, parts = job.parts] { lay_parts(*parts, *run); });
    await(jobs, copies, *run);
    for (const Copy& copy : copies) {
      endpoint_state(copy.source).ring_at = nullptr;
      endpoint_state(copy.source).patterned.insert(copy.source_slot);
    }
  }

  std::vector<PatternCheck> compare(std::span<const Copy> copies, const Portion& portion, Deadline deadline) override {
    refuse_lost(copies);
    const auto run = last_run_ = std::make_shared<HostRun>(deadline);
    return compare(jobs_of(copies), copies, run,
                   [portion](auto& parts, HostRun& now) { compare_parts(parts, portion, now); });
  }

  std::vector<Heated> heat(double seconds, std::optional<int> flips, Deadline deadline) override {
    last_run_ = std::make_shared<HostRun>(earlier(Deadline::in(seconds), deadline));
    return heat_endpoints(endpoint_states_, seconds, flips, last_run_, deadline);
  }

 private:
  HostEndpointState& endpoint_state(int endpoint) { return endpoint_states_[static_cast<std::size_t>(endpoint)]; }

  /// Records that the source of a copy no longer contains a ring or its pattern.
  void write_over(const Copy& copy) {
    endpoint_state(copy.source).ring_at = nullptr;
    endpoint_state(copy.source).patterned.erase(copy.source_slot);
  }

  /// Compares each part on another thread than the one that copied it.
  template <class Work>
  std::vector<PatternCheck> compare(std::span<const Job> jobs, std::span<const Copy> copies,
                                    const std::shared_ptr<HostRun>& run, const Work& work) {
    const std::vector<Job> checks = checked_by_others(jobs, [this](const Job& job) { return spare_for(job); });
    for (const Job& job : checks) start(job, *run, [run, parts = job.parts, work] { work(*parts, *run); });
    await(checks, copies, *run);
    return checks_of(checks, copies.size());
  }

  std::span<const std::unique_ptr<Worker>> threads_of(int endpoint, std::size_t wanted) {
    return endpoint_state(endpoint).team->threads(wanted);
  }

  /// Returns a thread that is bound to another core than the job's, if possible.
  Checker spare_for(const Job& job) {
    for (const auto& thread : threads_of(job.endpoint, 2))
      if (thread.get() != job.thread) return {job.endpoint, thread.get()};
    for (int other = 0; other < static_cast<int>(endpoint_states_.size()); ++other)
      if (other != job.endpoint && endpoint_state(other).team && !lost(other))
        return {other, threads_of(other, 1).front().get()};
    if (!checker_ && !other_cores_.empty()) checker_ = std::make_unique<Worker>(other_cores_);
    return {job.endpoint, checker_ ? checker_.get() : job.thread};
  }

  /// Returns the thread of the answering endpoint. For NUMA memory, returns an idle thread, if possible on another core
  /// of
  /// its node.
  Checker answerer_of(const Copy& copy) {
    const int other = other_endpoint(endpoint_states_, copy), executor = copying_endpoint(endpoint_states_, copy);
    if (endpoint_state(other).team) return {other, threads_of(other, 1).front().get()};
    if (const auto own = threads_of(executor, 2); own.size() > 1) return {executor, own[1].get()};
    for (int device = 0; device < static_cast<int>(endpoint_states_.size()); ++device)
      if (device != executor && endpoint_state(device).team && !lost(device) &&
          endpoint_state(device).endpoint.numa == endpoint_state(other).endpoint.numa)
        return {device, threads_of(device, 1).front().get()};
    auto& companion = companions_[executor];
    if (!companion) companion = std::make_unique<Worker>(endpoint_state(executor).cores);
    return {executor, companion.get()};
  }

  void refuse_lost(std::span<const Copy> copies) const {
    std::vector<CopiesFailed::Failure> failures;
    std::string why;
    for (std::size_t k = 0; k < copies.size(); ++k)
      for (const int end : {copies[k].source, copies[k].destination})
        if (const auto reason = lost(end)) {
          failures.push_back({k, CellStatus::error, end});
          why = *reason;
        }
    if (!failures.empty()) throw CopiesFailed(why, failures);
  }

  PathKind kind_of(const Copy& copy) {
    return {endpoint_state(copy.source).endpoint.numa == endpoint_state(copy.destination).endpoint.numa,
            endpoint_state(copying_endpoint(endpoint_states_, copy)).team->most(),
            copy.engine,
            copy.kernel,
            copy.direction,
            copy.peer_access};
  }

  /// Measures the rate of a copy in bytes per second, with the number of threads in `threads_`.
  double rate(Copy copy, Deadline deadline) {
    const auto seconds = [&] { return run(std::span(&copy, 1), deadline).copies.front().span.seconds(); };
    copy.repeats = 1;
    copy.background = false;
    copy.repeats = static_cast<int>(std::clamp(std::ceil(rate_seconds / std::max(seconds(), 1e-9)), 1.0, 1000.0));
    double least = seconds();
    for (int i = 1; i < rate_runs; ++i) least = std::min(least, seconds());
    return static_cast<double>(copy.bytes) * copy.repeats / least;
  }

  /// Returns a part of a copy, which keeps its memory alive.
  HostPart part_of(const Copy& copy, std::size_t index) {
    HostPart part;
    part.index = index;
    part.copy = copy;
    part.share = {0, copy.bytes};
    part.source = endpoint_state(copy.source).source[copy.source_slot];
    part.destination = endpoint_state(copy.destination).destination[copy.destination_slot];
    part.ring_at = endpoint_state(copy.source).ring_at;
    part.is_patterned = endpoint_state(copy.source).patterned.contains(copy.source_slot);
    if (!part.source || !part.destination || part.source->bytes() < copy.end() + copy.shift ||
        part.destination->bytes() < copy.end())
      throw DeviceError(copy_text(copy) + ": its buffers were not created");
    return part;
  }

  /// Returns the copies of each thread, in order.
  std::vector<Job> jobs_of(std::span<const Copy> copies) {
    std::map<std::pair<int, std::size_t>, Job> jobs;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const Copy& copy = copies[k];
      const int executor = copying_endpoint(endpoint_states_, copy);
      const auto threads = threads_of(executor, copy.is_chain() ? 1 : path_threads_.number(kind_of(copy), copy.bytes));
      const auto cut = copy.is_chain() ? std::vector{Share{0, copy.bytes}} : shares(copy.bytes, threads.size());
      for (std::size_t i = 0; i < cut.size(); ++i) {
        Job& job = jobs.try_emplace({executor, i}, Job{executor, threads[i].get(), nullptr}).first->second;
        if (!job.parts) job.parts = std::make_shared<std::vector<HostPart>>();
        HostPart part = part_of(copy, k);
        part.share = cut[i];
        if (!copy.peer_access) part.bounce = endpoint_state(executor).bounces.at(i);
        job.parts->push_back(std::move(part));
      }
    }
    std::vector<Job> out;
    for (auto& [key, job] : jobs) out.push_back(std::move(job));
    return out;
  }

  /// Rebuilds rings that a verification overwrote, and clears flags. Returns the parts of answering endpoints.
  std::vector<HostPart> set_up_chains(std::span<const Copy> copies, Deadline deadline) {
    std::vector<HostPart> answers;
    for (std::size_t k = 0; k < copies.size(); ++k) {
      const Copy& copy = copies[k];
      if (copy.operation == Operation::chase && endpoint_state(copy.source).ring_at == nullptr) lay_ring(copy);
      if (copy.operation == Operation::atomic) write_over(copy);
      if (!copy.has_two_sides()) continue;
      write_over(copy);
      HostPart part = part_of(copy, k);
      std::memset(part.source->data() + copy.offset, 0, sizeof(std::uint64_t));
      std::memset(part.destination->data() + copy.offset, 0, sizeof(std::uint64_t));
      if (copy.operation == Operation::visibility) {
        const std::uint64_t rounds = transfers_of(copy);
        part.writes = other_endpoint(endpoint_states_, copy) == copy.source;
        part.terms = make_terms(rounds, copy.write_fault, handover_times, deadline);
        reset_handovers(handover_place(part));
      }
      answers.push_back(part);
    }
    return answers;
  }

  void lay_ring(const Copy& copy) {
    const HostPart part = part_of(copy, 0);
    write_over(copy);
    endpoint_state(copy.source).ring_at = part.source->data() + copy.offset;
    build_ring(part.source->data() + copy.offset, copy.bytes);
  }

  std::string copy_text(const Copy& copy) {
    return endpoint_state(copy.source).endpoint.label + "->" + endpoint_state(copy.destination).endpoint.label;
  }

  /// Waits for all threads. An endpoint whose thread hangs is lost. Throws CopiesFailed.
  void await(std::span<const Job> jobs, std::span<const Copy> copies, HostRun& run) {
    const JobFailures found = wait_for(jobs, run, [&](std::size_t index) { return copy_text(copies[index]); });
    for (const int endpoint : found.hanging)
      endpoint_state(endpoint).lost = endpoint_state(endpoint).endpoint.label + ": its thread hangs";
    if (!found.failures.empty()) throw CopiesFailed(found.why, found.failures);
  }

  bool huge_pages_;
  std::vector<HostEndpointState> endpoint_states_;  ///< devices first, then NUMA memory: one for each endpoint
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
  PathThreads path_threads_;
  ProcessorPoll processors_;
  bool in_caches_ = false;                             ///< whether buffers of the default size may fit into caches
  std::vector<int> other_cores_;                       ///< cores that belong to no device
  std::unique_ptr<Worker> checker_;                    ///< compares data if only one thread copies
  std::map<int, std::unique_ptr<Worker>> companions_;  ///< threads that answer for devices with one core
  std::shared_ptr<HostRun> last_run_;
};

}  // namespace

std::unique_ptr<Backend> make_host_backend(std::span<const int> devices, bool huge_pages,
                                           const std::vector<NumaNode>& nodes) {
  return std::make_unique<HostBackend>(devices, huge_pages, nodes);
}

}  // namespace linkmatrix
