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
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr double nanosecond = 1e-9, microsecond = 1e-6;
constexpr unsigned long of_kernel = 0x00200000;  // PF_KTHREAD, in the flags of a thread of the kernel

double tick() {
  static const long in_second = ::sysconf(_SC_CLK_TCK);
  return in_second > 0 ? 1.0 / static_cast<double>(in_second) : 0.01;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? text.str() : "";
}

/// Numbers of a line of /proc/stat, in seconds.
struct CoreTimes {
  double busy = 0, stolen = 0;
  double worked = 0;  ///< busy without interrupts, which come of the run's own messages too
};

std::optional<CoreTimes> core_times(std::istringstream& words) {
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  for (double& one : ticks)
    if (!(words >> one)) return std::nullopt;
  const double worked = ticks[0] + ticks[1] + ticks[2];
  return CoreTimes{(worked + ticks[5] + ticks[6]) * tick(), ticks[7] * tick(), worked * tick()};
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

std::size_t processors(const std::map<std::string, CoreTimes>& times) {
  return std::max<std::size_t>(1, times.size() - times.contains("cpu"));
}

/// A process or thread, as /proc/PID/stat has it.
struct Task {
  std::string name;
  unsigned parent = 0;
  double seconds = 0;  ///< of processors
  int core = -1;       ///< on which it ran last; -1: not said
  bool is_kernel = false;
};

std::optional<Task> task_of(const fs::path& folder) {
  const std::string text = text_of(folder / "stat");
  const auto open = text.find('('), close = text.rfind(')');  // a name may have brackets itself
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::istringstream rest(text.substr(close + 1));
  std::string word, state;
  Task task{.name = text.substr(open + 1, close - open - 1)};
  rest >> state >> task.parent;
  constexpr int between_parent_and_flags = 4, between_flags_and_times = 4;
  for (int i = 0; i < between_parent_and_flags; ++i) rest >> word;
  unsigned long flags = 0;
  rest >> flags;
  for (int i = 0; i < between_flags_and_times; ++i) rest >> word;
  double user = 0, system = 0;
  if (!(rest >> user >> system)) return std::nullopt;
  task.is_kernel = (flags & of_kernel) != 0;
  task.seconds = (user + system) * tick();
  constexpr int between_times_and_core = 23;
  for (int i = 0; i < between_times_and_core; ++i) rest >> word;
  if (!(rest >> task.core)) task.core = -1;
  return task;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return c >= '0' && c <= '9'; });
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

/// The cores that a thread may use; none where that cannot be read.
std::vector<int> allowed_cores(const fs::path& thread) {
  std::istringstream lines(text_of(thread / "status"));
  constexpr std::string_view wanted = "Cpus_allowed_list:";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(wanted)) continue;
    std::istringstream rest(line.substr(wanted.size()));
    std::string list;
    rest >> list;
    return cores_in(list);
  }
  return {};
}

/// Likewise of all threads of a process.
std::vector<int> cores_of_threads(const fs::path& process) {
  std::set<int> found;
  for (const fs::path& thread : entries(process / "task"))
    for (const int core : allowed_cores(thread)) found.insert(core);
  return {found.begin(), found.end()};
}

/// As a record takes it; empty where that is too long for one.
std::string list_text(const std::vector<int>& cores) {
  constexpr std::size_t most = 4096;
  std::string text = cpu_list_text(cores);
  return text.size() > most ? "" : text;
}

/// How long a thread ran, and how long it waited for a processor that others had.
struct Turns {
  double ran = 0, waited = 0;
};

std::optional<Turns> turns_of(const fs::path& thread) {
  std::istringstream words(text_of(thread / "schedstat"));
  Turns turns;
  if (!(words >> turns.ran >> turns.waited)) return std::nullopt;
  return Turns{turns.ran * nanosecond, turns.waited * nanosecond};
}

/// What the kernel's pressure file of processors says of "some", in seconds.
std::optional<double> stalled_seconds(const fs::path& proc) {
  const std::string line = line_of(proc / "pressure/cpu");
  const auto at = line.find("total=");
  if (!line.starts_with("some ") || at == std::string::npos) return std::nullopt;
  double value = 0;
  std::istringstream number(line.substr(at + 6));
  return number >> value ? std::optional(value * microsecond) : std::nullopt;
}

std::optional<double> load_of(const fs::path& proc) {
  double load = 0;
  std::istringstream words(line_of(proc / "loadavg"));
  return words >> load ? std::optional(load) : std::nullopt;
}

/// Interrupts that were put off, which /proc/stat does not count as work.
bool is_of_interrupts(const Task& task) { return task.name.starts_with("ksoftirqd"); }

double steady_now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

}  // namespace

ProcessorLook::ProcessorLook(const fs::path& root, std::vector<unsigned> ranks)
    : proc_{root / "proc"}, ranks_(ranks.begin(), ranks.end()), users_{users_of(root)} {
  std::error_code failure;
  self_ = fs::read_symlink(proc_ / "self", failure).filename().string();
  if (failure || !is_number(self_)) self_ = std::to_string(::getpid());
}

void ProcessorLook::add_node(Activity& activity, const std::string& node) {
  activity.seconds = steady_now();
  NodeLoad load{node, load_of(proc_), stalled_seconds(proc_), {}, {}, {}};
  const auto times = all_core_times(proc_);
  if (const auto all = times.find("cpu"); all != times.end()) {
    load.busy = all->second.busy;
    load.stolen = all->second.stolen;
  }
  const auto self = task_of(proc_ / self_);
  double own = 0;
  std::size_t others = 0;
  std::map<unsigned, std::pair<int, double>> kernel;  // core and seconds of each of its threads
  for (const fs::path& folder : entries(proc_)) {
    const std::string pid = folder.filename().string();
    if (!is_number(pid) || pid.size() > 9) continue;
    const auto task = task_of(folder);
    const auto number = static_cast<unsigned>(std::stoul(pid));
    if (!task) continue;
    if (task->is_kernel) {
      if (!is_of_interrupts(*task)) kernel.emplace(number, std::pair(task->core, task->seconds));
      continue;
    }
    const bool is_own =
        self && (pid == self_ || number == self->parent || (ranks_.contains(number) && task->name == self->name));
    if (is_own) {
      own += task->seconds;
      continue;
    }
    ++others;
    activity.processes.push_back(
        {node, number, printable_name(task->name), user_of(number), std::nullopt, task->seconds});
  }
  if (self) load.own_busy = own;
  load.kernel = kernel_seconds(kernel);
  if (!load.busy) activity.untold.push_back(node + ": how busy its processors are cannot be read");
  if (!load.stalled) activity.untold.push_back(node + ": its kernel does not count the pressure on its processors");
  if (others == 0) activity.untold.push_back(node + ": the processes of others cannot be seen from here");
  activity.nodes.push_back(std::move(load));
}

/// Since the first look, of each core: of threads that end and move the sum of all would fall.
std::map<int, double> ProcessorLook::kernel_seconds(const std::map<unsigned, std::pair<int, double>>& threads) {
  std::map<unsigned, double> now;
  for (const auto& [number, thread] : threads) {
    const auto& [core, seconds] = thread;
    const auto before = kernel_before_.find(number);
    const bool is_known = before != kernel_before_.end() && before->second <= seconds;
    const double lately = seconds - (is_known ? before->second : 0);
    if (!is_first_ && core >= 0 && lately > 0) kernel_[core] += lately;
    now.emplace(number, seconds);
  }
  kernel_before_ = std::move(now);
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
  std::map<int, std::vector<Turns>> bound;
  double unbound = 0;
  bool told = false;
  for (const fs::path& thread : entries(proc_ / self_ / "task")) {
    const auto turns = turns_of(thread);
    if (!turns) continue;
    told = true;
    const std::vector<int> allowed = allowed_cores(thread);
    if (allowed.size() != 1)
      unbound += turns->ran;
    else if (std::ranges::find(cores, allowed.front()) != cores.end())
      bound[allowed.front()].push_back(*turns);
  }
  const auto times = all_core_times(proc_);
  double ran = 0, waited = 0, stolen = 0;
  for (const auto& [core, threads] : bound) {
    told = told && threads.size() == 1;
    for (const Turns& turns : threads) ran += turns.ran, waited += turns.waited;
    const auto known = times.find("cpu" + std::to_string(core));
    if (known == times.end()) continue;
    stolen += taken_of_run(label + known->first, threads.front().ran, known->second.busy, known->second.stolen);
  }
  Use use{label, "cpu", std::nullopt, ran};
  if (told)
    // a thread of the run that is bound to none was on any of them: that a bound one waited for it is nobody else's
    // doing
    use.counted = ran + std::max(0.0, waited - unbound / static_cast<double>(processors(times))) + stolen;
  else
    activity.untold.push_back(label + ": how much of its time others had cannot be told" +
                              (bound.empty() ? "" : ", for several threads of the run share a core"));
  activity.uses.push_back(std::move(use));
}

void ProcessorLook::add_self(Activity& activity, const std::string& label) {
  std::vector<Turns> threads;
  double ran = 0, foreign = 0;
  for (const fs::path& thread : entries(proc_ / self_ / "task"))
    if (const auto turns = turns_of(thread)) threads.push_back(*turns), ran += turns->ran;
  for (const Turns& turns : threads) foreign += std::max(0.0, turns.waited - (ran - turns.ran));
  const std::vector<int> cores = cores_of_threads(proc_ / self_);
  const auto times = all_core_times(proc_);
  CoreTimes all;
  std::size_t read = 0;
  for (const int core : cores)
    if (const auto one = times.find("cpu" + std::to_string(core)); one != times.end()) {
      all.busy += one->second.busy, all.stolen += one->second.stolen, all.worked += one->second.worked;
      ++read;
    }
  Use use{label, "cpu", std::nullopt, ran};
  if (!threads.empty())
    use.counted = ran + foreign + taken_of_run(label, ran, all.busy, all.stolen);
  else
    activity.untold.push_back(label + ": how much of its time others had cannot be told");
  use.cores = list_text(cores);
  if (read > 0 && read == cores.size()) use.busy = all.worked;
  activity.uses.push_back(std::move(use));
}

}  // namespace linkmatrix
