#include "device/host/jobs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

constexpr double time_to_cool = 10;  // seconds for the last product of heating, if threads share cores

}  // namespace

bool Job::is_measured() const {
  return std::any_of(parts->begin(), parts->end(), [](const HostPart& part) { return !part.copy.background; });
}

void start(const Job& job, HostRun& run, std::function<void()> work) {
  try {
    job.thread->start(std::move(work));
  } catch (...) {
    run.stop = true;
    throw;
  }
}

JobFailures wait_for(std::span<const Job> jobs, HostRun& run, const std::function<std::string(std::size_t)>& name) {
  JobFailures found;
  std::map<std::size_t, CopiesFailed::Failure> failures;
  const auto end_failed_cells = [&](const Job& job, CellStatus status, std::optional<int> endpoint,
                                    const std::string& what) {
    for (const HostPart& part : *job.parts) {
      failures[part.index] = {part.index, status, endpoint};
      found.why += (found.why.empty() ? "" : "; ") + name(part.index) + ' ' + what;
    }
  };
  for (const Job& job : jobs) try {
      if (job.thread->wait(run.deadline)) continue;
      run.stop = true;
      const bool hangs = !job.thread->wait_after_deadline();
      end_failed_cells(job, CellStatus::timeout, hangs ? std::optional(job.endpoint) : std::nullopt,
                       "did not finish in time");
      if (hangs) found.hanging.push_back(job.endpoint);
    } catch (const std::exception& e) {
      end_failed_cells(job, CellStatus::error, std::nullopt, std::string("failed: ") + e.what());
    }
  for (const auto& [index, failure] : failures) found.failures.push_back(failure);
  return found;
}

std::vector<Job> checked_by_others(std::span<const Job> jobs, const std::function<Checker(const Job&)>& spare) {
  std::vector<Job> checks;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    const Job& next = jobs[(k + 1) % jobs.size()];
    const Checker checker = jobs.size() > 1 ? Checker{next.endpoint, next.thread} : spare(jobs[k]);
    checks.push_back({checker.endpoint, checker.thread, jobs[k].parts});
  }
  return checks;
}

void agree_on_terms(std::span<const Job> jobs, std::span<const HostPart> answers) {
  for (const Job& job : jobs)
    for (HostPart& part : *job.parts)
      for (const HostPart& answer : answers)
        if (answer.index == part.index) part.terms = answer.terms, part.writes = !answer.writes;
}

void add_visibility(std::span<const Job> jobs, Timeline& timeline) {
  std::map<std::size_t, std::pair<HandoverEnd, HandoverEnd>> ends;
  for (const Job& job : jobs)
    for (const HostPart& part : *job.parts)
      if (part.copy.operation == Operation::visibility)
        (part.writes ? ends[part.index].first : ends[part.index].second) = part.end;
  for (const auto& [index, sides] : ends)
    timeline.copies[index].set_visibility(visibility_of(sides.first, sides.second));
}

Timeline timeline_of(std::span<const Job> jobs, std::size_t copies) {
  Timeline timeline{std::vector<CopyTime>(copies), Timing::gate, 0};  // all cores share one clock
  std::vector<bool> seen(copies);
  for (const Job& job : jobs)
    for (const HostPart& part : *job.parts) {
      CopyTime& time = timeline.copies[part.index];
      if (!seen[part.index]) {
        time = part.time;
      } else {
        time.span = hull(std::array{time.span, part.time.span});
        time.transfers =
            std::min(time.transfers, part.time.transfers);  // threads of a background copy make different numbers
      }
      seen[part.index] = true;
    }
  return timeline;
}

std::vector<PatternCheck> checks_of(std::span<const Job> jobs, std::size_t copies) {
  std::vector<PatternCheck> checks(copies);
  for (const Job& job : jobs)
    for (const HostPart& part : *job.parts) {
      if (part.check.wrong_bytes == 0) continue;
      PatternCheck& all = checks[part.index];
      const bool first = all.wrong_bytes == 0;
      all.first_wrong = first ? part.check.first_wrong : std::min(all.first_wrong, part.check.first_wrong);
      all.wrong_bytes += part.check.wrong_bytes;
    }
  return checks;
}

std::vector<Heated> heat_endpoints(std::span<HostEndpointState> endpoints, double seconds, std::optional<int> flips,
                                   const std::shared_ptr<HostRun>& run, Deadline deadline) {
  const auto thread_of = [&](int device) -> Worker& {
    return *endpoints[static_cast<std::size_t>(device)].team->threads(1).front();
  };
  std::map<int, std::shared_ptr<Heated>> heated;
  for (int device = 0; device < static_cast<int>(endpoints.size()); ++device) {
    const HostEndpointState& endpoint = endpoints[static_cast<std::size_t>(device)];
    if (!endpoint.team || endpoint.lost) continue;
    const auto mine = heated[device] = std::make_shared<Heated>(Heated{device});
    thread_of(device).start([run, mine, flip = flips == device] { heat_until_stopped(*mine, flip, *run); });
  }
  std::vector<Heated> all;
  for (const auto& [device, mine] : heated) {
    Worker& thread = thread_of(device);
    if (!thread.wait(earlier(Deadline::in(seconds + time_to_cool), deadline)) && !thread.wait_after_deadline())
      throw TimedOut(endpoints[static_cast<std::size_t>(device)].endpoint.label +
                     ": the heating computation did not end in time");
    all.push_back(*mine);
  }
  return all;
}

}  // namespace linkmatrix
