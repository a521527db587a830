#include "device/host/proc_tasks.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "core/cpu_list.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr double nanosecond = 1e-9;
constexpr unsigned long of_kernel = 0x00200000;  // PF_KTHREAD, in the flags of a thread of the kernel

/// The number that an entry of /proc is called by; nothing for one that is no process or thread.
std::optional<unsigned> number_of_entry(const fs::path& folder) {
  const std::string text = folder.filename().string();
  if (!is_number(text) || text.size() > 9) return std::nullopt;
  return static_cast<unsigned>(std::stoul(text));
}

}  // namespace

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? text.str() : "";
}

double tick() {
  static const long in_second = ::sysconf(_SC_CLK_TCK);
  return in_second > 0 ? 1.0 / static_cast<double>(in_second) : 0.01;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return c >= '0' && c <= '9'; });
}

std::optional<Task> task_of(const fs::path& folder) {
  const std::string text = text_of(folder / "stat");
  const auto open = text.find('('), close = text.rfind(')');  // a name may have brackets itself
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::istringstream rest(text.substr(close + 1));
  std::string word, state, group;
  Task task{.name = text.substr(open + 1, close - open - 1)};
  rest >> state >> task.parent >> group >> task.session;
  constexpr int between_session_and_flags = 2, between_flags_and_times = 4;
  for (int i = 0; i < between_session_and_flags; ++i) rest >> word;
  unsigned long flags = 0;
  rest >> flags;
  for (int i = 0; i < between_flags_and_times; ++i) rest >> word;
  double user = 0, system = 0;
  if (!(rest >> user >> system)) return std::nullopt;
  task.is_kernel = (flags & of_kernel) != 0;
  task.seconds = (user + system) * tick();
  return task;
}

std::map<unsigned, Task> all_tasks(const fs::path& proc) {
  std::map<unsigned, Task> found;
  for (const fs::path& folder : entries(proc))
    if (const auto number = number_of_entry(folder))
      if (const auto task = task_of(folder)) found.emplace(*number, *task);
  return found;
}

std::set<unsigned> launchers_of(const std::map<unsigned, Task>& tasks, const std::set<unsigned>& processes) {
  std::set<unsigned> found;
  for (const unsigned process : processes) {
    const auto own = tasks.find(process);
    if (own == tasks.end()) continue;
    auto at = tasks.find(own->second.parent);
    const unsigned session = at == tasks.end() ? 0 : at->second.session;
    while (at != tasks.end() && at->second.session == session && !processes.contains(at->first) &&
           found.insert(at->first).second)
      at = tasks.find(at->second.parent);
  }
  return found;
}

std::map<unsigned, fs::path> threads_of(const fs::path& process) {
  std::map<unsigned, fs::path> found;
  for (const fs::path& thread : entries(process / "task"))
    if (const auto number = number_of_entry(thread)) found.emplace(*number, thread);
  return found;
}

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

std::vector<int> cores_of_threads(const fs::path& process) {
  std::set<int> found;
  for (const auto& [number, thread] : threads_of(process))
    for (const int core : allowed_cores(thread)) found.insert(core);
  return {found.begin(), found.end()};
}

std::optional<Turns> turns_of(const fs::path& thread) {
  std::istringstream words(text_of(thread / "schedstat"));
  Turns turns;
  if (!(words >> turns.ran >> turns.waited)) return std::nullopt;
  return Turns{turns.ran * nanosecond, turns.waited * nanosecond};
}

}  // namespace linkmatrix
