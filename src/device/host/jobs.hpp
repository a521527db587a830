#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/heating.hpp"
#include "core/pattern.hpp"
#include "device/backend.hpp"
#include "device/host/endpoint_state.hpp"
#include "device/host/parts.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {

/// A thread and its parts of the copies in a run. The thread and the back end share the parts, because either may end
/// first.
struct Job {
  int endpoint = 0;  ///< index of the thread's endpoint
  Worker* thread = nullptr;
  std::shared_ptr<std::vector<HostPart>> parts;
  /// Returns whether any part is no background load.
  bool is_measured() const;
};

/// Runs `work` on the job's thread. Throws as Worker::start, after releasing the threads that wait at the gate.
void start(const Job& job, HostRun& run, std::function<void()> work);

/// Failures of the jobs of a run.
struct JobFailures {
  std::vector<CopiesFailed::Failure> failures;
  std::string why;           ///< one sentence per copy
  std::vector<int> hanging;  ///< endpoints whose thread does not end
};

/// Waits for every thread, also after a failure. name: returns the name of a copy by its index.
JobFailures wait_for(std::span<const Job> jobs, HostRun& run, const std::function<std::string(std::size_t)>& name);

/// The thread that compares the data of a job.
struct Checker {
  int endpoint = 0;
  Worker* thread = nullptr;
};

/// Returns the jobs with exchanged threads, because the core that copied may read its cache instead of memory. spare:
/// returns the thread if there is only one job.
std::vector<Job> checked_by_others(std::span<const Job> jobs, const std::function<Checker(const Job&)>& spare);

/// Copies the terms of each visibility test to both sides. answers: parts of the answering sides.
void agree_on_terms(std::span<const Job> jobs, std::span<const HostPart> answers);

/// Combines the results of both sides of each visibility test into its CopyTime.
void add_visibility(std::span<const Job> jobs, Timeline& timeline);

/// Returns the times of the copies, each from its first start to its last end over all parts.
Timeline timeline_of(std::span<const Job> jobs, std::size_t copies);

/// Returns the comparison of each copy, summed over its parts.
std::vector<PatternCheck> checks_of(std::span<const Job> jobs, std::size_t copies);

/// Heats the first core of each available device until the deadline of `run`. flips: index of the device with a
/// simulated bit flip. Returns one result per device. Throws TimedOut if a thread does not end.
std::vector<Heated> heat_endpoints(std::span<HostEndpointState> endpoints, double seconds, std::optional<int> flips,
                                   const std::shared_ptr<HostRun>& run, Deadline deadline);

}  // namespace linkmatrix
