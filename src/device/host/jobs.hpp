#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/pattern.hpp"
#include "device/backend.hpp"
#include "device/host/parts.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {

/// A thread and what it makes of the copies of a run. Thread and back end share the parts, so that each may go first.
struct Job {
  int endpoint = 0;  ///< whose thread it is
  Worker* thread = nullptr;
  std::shared_ptr<std::vector<HostPart>> parts;

  bool is_measured() const;
};

/// Starts a job's thread. Where that cannot be, those that already wait at the gate are told to go.
void start(const Job& job, HostRun& run, std::function<void()> work);

/// Who compares what a job has copied.
struct Checker {
  int endpoint = 0;
  Worker* thread = nullptr;
};

/// The same parts, each with the thread of another job, so that no core is asked whether it has copied well: what is
/// still in its cache may not be in memory. `spare`: for a single job.
std::vector<Job> checked_by_others(std::span<const Job> jobs, const std::function<Checker(const Job&)>& spare);

/// The two sides of each visibility test, of which `answers` has one, get the same terms.
void agree_on_terms(std::span<const Job> jobs, std::span<const HostPart> answers);

/// What the two sides of each visibility test saw, into its time.
void add_visibility(std::span<const Job> jobs, Timeline& timeline);

/// When the copies ran: each begins with its first part and ends with its last.
Timeline timeline_of(std::span<const Job> jobs, std::size_t copies);

/// What arrived of each copy.
std::vector<PatternCheck> checks_of(std::span<const Job> jobs, std::size_t copies);

}  // namespace linkmatrix
