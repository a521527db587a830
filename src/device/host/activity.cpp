#include "device/host/activity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "core/clock.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr double nanosecond = 1e-9, microsecond = 1e-6;
constexpr unsigned kernel_threads = 2;  // the process whose children they are

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
};

std::optional<CoreTimes> core_times(std::istringstream& words) {
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  for (double& one : ticks)
    if (!(words >> one)) return std::nullopt;
  return CoreTimes{(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * tick(), ticks[7] * tick()};
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
};

std::optional<Task> task_of(const fs::path& folder) {
  const std::string text = text_of(folder / "stat");
  const auto open = text.find('('), close = text.rfind(')');  // a name may have brackets itself
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::istringstream rest(text.substr(close + 1));
  std::string word, state;
  Task task{text.substr(open + 1, close - open - 1), 0, 0};
  rest >> state >> task.parent;
  constexpr int between_parent_and_times = 9;
  for (int i = 0; i < between_parent_and_times; ++i) rest >> word;
  double user = 0, system = 0;
  if (!(rest >> user >> system)) return std::nullopt;
  task.seconds = (user + system) * tick();
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

/// The only core that a thread may use; nothing where there are several.
std::optional<int> only_core(const fs::path& thread) {
  std::istringstream lines(text_of(thread / "status"));
  constexpr std::string_view wanted = "Cpus_allowed_list:";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(wanted)) continue;
    std::istringstream rest(line.substr(wanted.size()));
    std::string list;
    rest >> list;
    return is_number(list) && list.size() < 6 ? std::optional(std::stoi(list)) : std::nullopt;
  }
  return std::nullopt;
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

bool is_same_user(const fs::path& process, const fs::path& other) {
  struct stat one {
  }, two{};
  return ::stat(process.c_str(), &one) == 0 && ::stat(other.c_str(), &two) == 0 && one.st_uid == two.st_uid;
}

double steady_now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

}  // namespace

ProcessorLook::ProcessorLook(const fs::path& root, bool ranks)
    : proc_{root / "proc"}, ranks_{ranks}, users_{users_of(root)} {
  std::error_code failure;
  self_ = fs::read_symlink(proc_ / "self", failure).filename().string();
  if (failure || !is_number(self_)) self_ = std::to_string(::getpid());
}

void ProcessorLook::add_node(Activity& activity, const std::string& node) const {
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
  for (const fs::path& folder : entries(proc_)) {
    const std::string pid = folder.filename().string();
    if (!is_number(pid) || pid.size() > 9) continue;
    const auto task = task_of(folder);
    const auto number = static_cast<unsigned>(std::stoul(pid));
    if (!task || number == kernel_threads || task->parent == kernel_threads) continue;
    const bool is_own = self && (pid == self_ || number == self->parent ||
                                 (ranks_ && task->name == self->name && is_same_user(folder, proc_ / self_)));
    if (is_own) {
      own += task->seconds;
      continue;
    }
    ++others;
    activity.processes.push_back(
        {node, number, printable_name(task->name), user_of(number), std::nullopt, task->seconds});
  }
  if (self) load.own_busy = own;
  if (!load.busy) activity.untold.push_back(node + ": how busy its processors are cannot be read");
  if (!load.stalled) activity.untold.push_back(node + ": its kernel does not count the pressure on its processors");
  if (others == 0) activity.untold.push_back(node + ": the processes of others cannot be seen from here");
  activity.nodes.push_back(std::move(load));
}

std::string ProcessorLook::user_of(unsigned pid) const {
  struct stat about {};
  if (::stat((proc_ / std::to_string(pid)).c_str(), &about) != 0) return "";
  const auto known = users_.find(about.st_uid);
  return known == users_.end() ? "uid " + std::to_string(about.st_uid) : known->second;
}

void ProcessorLook::add_cores(Activity& activity, const std::string& label, std::span<const int> cores) const {
  std::map<int, std::vector<Turns>> bound;
  double unbound = 0;
  bool told = false;
  for (const fs::path& thread : entries(proc_ / self_ / "task")) {
    const auto turns = turns_of(thread);
    if (!turns) continue;
    told = true;
    const auto core = only_core(thread);
    if (!core)
      unbound += turns->ran;
    else if (std::ranges::find(cores, *core) != cores.end())
      bound[*core].push_back(*turns);
  }
  const auto times = all_core_times(proc_);
  double ran = 0, waited = 0, stolen = 0;
  for (const auto& [core, threads] : bound) {
    told = told && threads.size() == 1;
    for (const Turns& turns : threads) ran += turns.ran, waited += turns.waited;
    const auto known = times.find("cpu" + std::to_string(core));
    if (known == times.end() || known->second.busy <= 0) continue;
    const double share = std::min(1.0, threads.front().ran / known->second.busy);
    stolen += known->second.stolen * share;
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

void ProcessorLook::add_self(Activity& activity, const std::string& label) const {
  std::vector<Turns> threads;
  double ran = 0, foreign = 0;
  for (const fs::path& thread : entries(proc_ / self_ / "task"))
    if (const auto turns = turns_of(thread)) threads.push_back(*turns), ran += turns->ran;
  for (const Turns& turns : threads) foreign += std::max(0.0, turns.waited - (ran - turns.ran));
  Use use{label, "cpu", std::nullopt, ran};
  if (!threads.empty())
    use.counted = ran + foreign;
  else
    activity.untold.push_back(label + ": how much of its time others had cannot be told");
  activity.uses.push_back(std::move(use));
}

}  // namespace linkmatrix
