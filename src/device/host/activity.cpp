#include "device/host/activity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/cpu_list.hpp"
#include "device/host/cpu_quota.hpp"
#include "device/host/kernel_files.hpp"
#include "device/host/proc_tasks.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr double hardly = 0.005;  // seconds that a thread ran which was started and has had nothing to do

/// Numbers of a line of /proc/stat, in seconds.
struct CoreTimes {
  double busy = 0, stolen = 0;
  double worked = 0;      ///< busy without interrupts, which come of the run's own messages too
  double interrupts = 0;  ///< without those that were put off
};

std::optional<CoreTimes> core_times(std::istringstream& words) {
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  for (double& one : ticks)
    if (!(words >> one)) return std::nullopt;
  const double worked = ticks[0] + ticks[1] + ticks[2];
  return CoreTimes{(worked + ticks[5] + ticks[6]) * tick(), ticks[7] * tick(), worked * tick(), ticks[5] * tick()};
}

/// {"cpu", "cpu0" …: times}.
std::map<std::string, CoreTimes> all_core_times(const fs::path& proc) {
  std::map<std::string, CoreTimes> found;
  std::istringstream lines(text_of(proc / "stat"));
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (const auto times = core_times(words)) found[name] = *times;
  }
  return found;
}

/// Whether the kernel takes interrupts out of the time of the threads that they interrupt. Where it does not, it looks
/// at each tick of its clock what is interrupted, and never sees an interrupt: no other comes before that has ended.
bool counts_interrupts(const std::map<std::string, CoreTimes>& times) {
  return std::ranges::any_of(times, [](const auto& one) { return one.second.interrupts > 0; });
}

std::size_t processors(const std::map<std::string, CoreTimes>& times) {
  return std::max<std::size_t>(1, times.size() - times.contains("cpu"));
}

/// {number: name} of the users that this node knows by itself. A directory service is not asked: it may not answer, and
/// nobody waits for that while something is measured.
std::map<unsigned, std::string> users_of(const fs::path& root) {
  std::map<unsigned, std::string> found;
  std::ifstream in(root / "etc/passwd");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name, password, number;
    if (std::getline(fields, name, ':') && std::getline(fields, password, ':') && std::getline(fields, number, ':') &&
        is_number(number) && number.size() < 10)
      found.emplace(static_cast<unsigned>(std::stoul(number)), printable_name(name));
  }
  return found;
}

/// As a record takes it; empty where that is too long for one.
std::string list_text(const std::vector<int>& cores) {
  constexpr std::size_t most = 4096;
  std::string text = cpu_list_text(cores);
  return text.size() > most ? "" : text;
}

std::optional<double> load_of(const fs::path& proc) {
  double load = 0;
  std::istringstream words(line_of(proc / "loadavg"));
  return words >> load ? std::optional(load) : std::nullopt;
}

/// Interrupts that were put off, which /proc/stat does not count as work.
bool is_of_interrupts(const Task& task) { return task.name.starts_with("ksoftirqd"); }

}  // namespace

ProcessorLook::ProcessorLook(const fs::path& root, std::vector<unsigned> ranks)
    : proc_{root / "proc"}, ranks_(ranks.begin(), ranks.end()), users_{users_of(root)} {
  std::error_code failure;
  self_ = fs::read_symlink(proc_ / "self", failure).filename().string();
  if (failure || !is_number(self_)) self_ = std::to_string(::getpid());
}

void ProcessorLook::add_node(Activity& activity, const std::string& node) {
  activity.seconds = steady_seconds();
  NodeLoad load{.node = node, .load = load_of(proc_)};
  const auto times = all_core_times(proc_);
  if (const auto all = times.find("cpu"); all != times.end()) {
    load.cores = static_cast<int>(times.size()) - 1;
    // with interrupts where these count as time of the threads that they interrupt too
    load.busy = counts_interrupts(times) ? all->second.worked : all->second.busy;
    load.stolen = all->second.stolen;
  }
  const std::map<unsigned, Task> tasks = all_tasks(proc_);
  const std::set<unsigned> run = processes_of_run(tasks), launchers = launchers_of(tasks, run);
  std::map<unsigned, double> kernel;
  double own = 0;
  std::size_t others = 0;
  for (const auto& [number, task] : tasks) {
    if (task.is_kernel) {
      if (!is_of_interrupts(task) || !counts_interrupts(times)) kernel.emplace(number, task.seconds);
    } else if (run.contains(number) || launchers.contains(number)) {
      own += task.seconds;
    } else {
      ++others;
      activity.processes.push_back(
          {node, number, printable_name(task.name), user_of(number), std::nullopt, task.seconds});
    }
  }
  if (!run.empty()) load.own_busy = own;
  if (const auto quota = cpu_quota(proc_.parent_path())) load.throttled = quota->throttled, load.quota = quota->text;
  load.kernel = kernel_seconds(std::move(kernel));
  if (!load.busy) activity.untold.push_back(node + ": how busy its processors are cannot be read");
  if (others == 0) activity.untold.push_back(node + ": the processes of others cannot be seen from here");
  activity.nodes.push_back(std::move(load));
}

/// This process, and those of the ranks that have its name; none where it cannot be seen.
std::set<unsigned> ProcessorLook::processes_of_run(const std::map<unsigned, Task>& tasks) const {
  const auto self = tasks.find(static_cast<unsigned>(std::stoul(self_)));
  if (self == tasks.end()) return {};
  std::set<unsigned> found{self->first};
  for (const unsigned rank : ranks_)
    if (const auto known = tasks.find(rank); known != tasks.end() && known->second.name == self->second.name)
      found.insert(rank);
  return found;
}

/// Since the first poll: the sum over all threads falls where one ends.
double ProcessorLook::kernel_seconds(std::map<unsigned, double> threads) {
  for (const auto& [number, seconds] : threads) {
    const auto before = kernel_before_.find(number);
    const bool is_known = before != kernel_before_.end() && before->second <= seconds;
    if (!is_first_) kernel_ += seconds - (is_known ? before->second : 0);
  }
  kernel_before_ = std::move(threads);
  is_first_ = false;
  return kernel_;
}

/// Of what the host of a virtual machine took of cores the run's threads lost as much as they had of what these did,
/// from look to look: what it took on other days is no loss of theirs.
double ProcessorLook::taken_of_run(const std::string& which, double ran, double busy, double stolen) {
  Taken& before = taken_.try_emplace(which, Taken{ran, busy, stolen}).first->second;
  if (const double worked = busy - before.busy; worked > 0)
    before.of_run += std::max(0.0, stolen - before.stolen) * std::clamp((ran - before.ran) / worked, 0.0, 1.0);
  before.ran = ran, before.busy = busy, before.stolen = stolen;
  return before.of_run;
}

std::string ProcessorLook::cores_of(unsigned pid) const {
  return list_text(cores_of_threads(proc_ / std::to_string(pid)));
}

std::string ProcessorLook::user_of(unsigned pid) const {
  struct stat about {};
  if (::stat((proc_ / std::to_string(pid)).c_str(), &about) != 0) return "";
  const auto known = users_.find(about.st_uid);
  return known == users_.end() ? "uid " + std::to_string(about.st_uid) : known->second;
}

void ProcessorLook::add_cores(Activity& activity, const std::string& label, std::span<const int> cores) {
  OwnTime& own = own_[label];
  const auto seen = own.threads.look(proc_ / self_);
  const OwnThreads::Look look = seen.value_or(OwnThreads::Look{});
  std::map<int, std::vector<const OwnThreads::Thread*>> bound;
  double unbound = look.ran;  // of those too that have ended
  for (const OwnThreads::Thread& thread : look.threads) {
    if (thread.allowed.size() != 1) continue;
    unbound -= thread.lately.ran;
    if (const int core = thread.allowed.front(); std::ranges::find(cores, core) != cores.end())
      bound[core].push_back(&thread);
  }
  const auto times = all_core_times(proc_);
  double ran = 0, waited = 0, stolen = 0;
  bool told = seen.has_value();
  for (auto& [core, threads] : bound) {
    if (threads.size() > 1)
      std::erase_if(threads, [](const OwnThreads::Thread* thread) { return thread->ran < hardly; });
    if (threads.empty()) continue;
    told = told && threads.size() == 1;
    for (const OwnThreads::Thread* const thread : threads) ran += thread->ran, waited += thread->lately.waited;
    const auto known = times.find("cpu" + std::to_string(core));
    if (known == times.end()) continue;
    stolen += taken_of_run(label + known->first, threads.front()->ran, known->second.busy, known->second.stolen);
  }
  // a thread of the run that is bound to none was on any of them: that a bound one waited for it is nobody else's doing
  own.waited += std::max(0.0, waited - std::max(0.0, unbound) / static_cast<double>(processors(times)));
  Use use{label, "cpu", std::nullopt, ran};
  if (told)
    use.counted = ran + own.waited + stolen;
  else
    activity.untold.push_back(label + ": how much of its time others had cannot be told" +
                              (bound.empty() ? "" : ", for several threads of the run share a core"));
  activity.uses.push_back(std::move(use));
}

void ProcessorLook::add_self(Activity& activity, const std::string& label) {
  OwnTime& own = own_[label];
  const auto seen = own.threads.look(proc_ / self_);
  const OwnThreads::Look look = seen.value_or(OwnThreads::Look{});
  // where the first thread may run, which measures: a helper of MPI or of a driver may be bound to nothing
  const std::vector<int> cores = allowed_cores(proc_ / self_ / "task" / self_);
  for (const OwnThreads::Thread& thread : look.threads)
    own.waited += std::max(0.0, thread.lately.waited - std::max(0.0, look.ran - thread.lately.ran));
  const auto times = all_core_times(proc_);
  CoreTimes all;
  for (const int core : cores)
    if (const auto one = times.find("cpu" + std::to_string(core)); one != times.end())
      all.busy += one->second.busy, all.stolen += one->second.stolen;
  const double ran = own.threads.ran();
  Use use{label, "cpu", std::nullopt, ran};
  if (seen)
    use.counted = ran + own.waited + taken_of_run(label, ran, all.busy, all.stolen);
  else
    activity.untold.push_back(label + ": how much of its time others had cannot be told");
  use.cores = list_text(cores);
  activity.uses.push_back(std::move(use));
}

}  // namespace linkmatrix
