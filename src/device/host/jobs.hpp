#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/pattern.hpp"
#include "device/backend.hpp"
#include "device/host/parts.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {

/// A thread and its parts of the copies of a run. Thread and back end share the parts, because either may end first.
struct Job {
  int endpoint = 0;  ///< endpoint of the thread
  Worker* thread = nullptr;
  std::shared_ptr<std::vector<HostPart>> parts;

  bool is_measured() const;
};

/// Starts a job's thread. On failure the threads that already wait at the gate are released.
void start(const Job& job, HostRun& run, std::function<void()> work);

/// Copies that failed, and endpoints whose thread does not end.
struct JobFailures {
  std::vector<CopiesFailed::Failure> failures;
  std::string why;  ///< one sentence per copy
  std::vector<int> hanging;
};

/// Waits until every thread has ended, also after a failure. name: returns the name of a copy by its index.
JobFailures wait_for(std::span<const Job> jobs, HostRun& run, const std::function<std::string(std::size_t)>& name);

/// The thread that compares the data of a job.
struct Checker {
  int endpoint = 0;
  Worker* thread = nullptr;
};

/// Returns the same parts with threads of other jobs, because a core that copied may see its cache instead of memory.
/// spare: provides the thread for a single job.
std::vector<Job> checked_by_others(std::span<const Job> jobs, const std::function<Checker(const Job&)>& spare);

/// Gives both sides of each visibility test the same terms. answers: the answering parts.
void agree_on_terms(std::span<const Job> jobs, std::span<const HostPart> answers);

/// Stores the results of both sides of each visibility test in its time.
void add_visibility(std::span<const Job> jobs, Timeline& timeline);

/// Returns the times of the copies, each from its first part to its last.
Timeline timeline_of(std::span<const Job> jobs, std::size_t copies);

/// Returns the comparison of each copy.
std::vector<PatternCheck> checks_of(std::span<const Job> jobs, std::size_t copies);

}  // namespace linkmatrix
