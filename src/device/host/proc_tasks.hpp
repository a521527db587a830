#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace linkmatrix {

/// All of a file below /proc; empty where it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// Seconds of the kernel's clock in which its files count processors' time.
double tick();

bool is_number(const std::string& text);

/// A process or thread, as its file `stat` has it.
struct Task {
  std::string name;
  unsigned parent = 0, session = 0;
  double seconds = 0;  ///< of processors; of a process those of threads that have ended too
  bool is_kernel = false;
};

/// Of a folder /proc/PID or /proc/PID/task/TID.
std::optional<Task> task_of(const std::filesystem::path& folder);

/// All processes that can be seen below /proc, and threads of the kernel.
std::map<unsigned, Task> all_tasks(const std::filesystem::path& proc);

/// What started these processes: the parent of each, and that one's ancestors as far as they are of its session. A
/// launcher may start ranks by a script or by a daemon of its own; what begins a session is a login, or a scheduler's.
std::set<unsigned> launchers_of(const std::map<unsigned, Task>& tasks, const std::set<unsigned>& processes);

/// Threads of a process, by number.
std::map<unsigned, std::filesystem::path> threads_of(const std::filesystem::path& process);

/// The cores that a thread may use, in ascending order; none where that cannot be read.
std::vector<int> allowed_cores(const std::filesystem::path& thread);

/// Likewise of all threads of a process.
std::vector<int> cores_of_threads(const std::filesystem::path& process);

/// How long a thread ran, and how long it waited for a processor that others had.
struct Turns {
  double ran = 0, waited = 0;
};

std::optional<Turns> turns_of(const std::filesystem::path& thread);

}  // namespace linkmatrix
