#include "device/host/activity.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/clock.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr unsigned long of_kernel = 0x00200000;  // PF_KTHREAD, a flag of kernel threads

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return in ? text.str() : "";
}

/// Returns the seconds per tick of the kernel's clock of processor time.
double tick() {
  static const long in_second = ::sysconf(_SC_CLK_TCK);
  return in_second > 0 ? 1.0 / static_cast<double>(in_second) : 0.01;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](unsigned char c) { return c >= '0' && c <= '9'; });
}

/// Sums over all cores of the node, from /proc/stat.
struct CoreTimes {
  int cores = 0;
  double busy = 0;  ///< seconds without interrupts, because messages of the run cause interrupts too
};

std::optional<CoreTimes> core_times(const fs::path& proc) {
  std::optional<CoreTimes> found;
  std::istringstream lines(text_of(proc / "stat"));
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    double user = 0, nice = 0, system = 0;
    if (!(words >> name >> user >> nice >> system)) continue;
    if (name == "cpu")
      found = CoreTimes{0, (user + nice + system) * tick()};
    else if (found)
      ++found->cores;
  }
  return found;
}

/// Returns {uid: name} from /etc/passwd. Does not query directory services, because they could block.
std::map<unsigned, std::string> users_of(const fs::path& root) {
  std::map<unsigned, std::string> found;
  std::ifstream in(root / "etc/passwd");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name, password, number;
    if (std::getline(fields, name, ':') && std::getline(fields, password, ':') && std::getline(fields, number, ':') &&
        is_number(number))
      found.emplace(static_cast<unsigned>(std::stoul(number)), printable_name(name));
  }
  return found;
}

}  // namespace

ProcessorPoll::ProcessorPoll(const fs::path& root, std::vector<unsigned> ranks)
    : proc_{root / "proc"}, ranks_(ranks.begin(), ranks.end()), users_{users_of(root)} {
  std::error_code failure;
  self_ = fs::read_symlink(proc_ / "self", failure).filename().string();
  if (failure || !is_number(self_)) self_ = std::to_string(::getpid());
}

void ProcessorPoll::add_node(Activity& activity, const std::string& node) {
  activity.seconds = steady_seconds();
  NodeLoad load{.node = node};
  if (const auto times = core_times(proc_)) load.cores = times->cores, load.busy = times->busy;
  const Processes all = processes();
  const std::set<unsigned> run = processes_of_run(all);
  std::map<unsigned, double> kernel;
  double own = 0;
  std::size_t others = 0;
  for (const auto& [pid, process] : all) {
    if (process.is_kernel) {
      kernel.emplace(pid, process.seconds);
    } else if (run.contains(pid)) {
      own += process.seconds;
    } else {
      ++others;
      activity.processes.push_back(
          {node, pid, printable_name(process.name), user_of(pid), std::nullopt, process.seconds});
    }
  }
  if (!run.empty()) load.own_busy = own;
  load.kernel = kernel_seconds(std::move(kernel));
  if (!load.busy) activity.untold.push_back(node + ": the load of its cores cannot be read");
  if (others == 0) activity.untold.push_back(node + ": other processes are not visible from here");
  activity.nodes.push_back(std::move(load));
}

/// Returns all visible processes, from their files `stat`.
ProcessorPoll::Processes ProcessorPoll::processes() const {
  Processes found;
  for (const fs::path& folder : entries(proc_)) {
    const std::string pid = folder.filename().string(), text = is_number(pid) ? text_of(folder / "stat") : "";
    const auto open = text.find('('), close = text.rfind(')');  // a name may contain brackets
    if (open == std::string::npos || close == std::string::npos || close < open) continue;
    std::istringstream rest(text.substr(close + 1));
    std::string word;
    Process process{.name = text.substr(open + 1, close - open - 1)};
    rest >> word >> process.parent >> word >> process.session >> word >> word;
    unsigned long flags = 0;
    rest >> flags >> word >> word >> word >> word;
    double user = 0, system = 0;
    if (!(rest >> user >> system)) continue;
    process.is_kernel = (flags & of_kernel) != 0;
    process.seconds = (user + system) * tick();
    found.emplace(static_cast<unsigned>(std::stoul(pid)), std::move(process));
  }
  return found;
}

/// Returns the processes of the run: this process, the ranks with the same name, and their launchers. Launchers are the
/// parent of each rank and its ancestors in the same session, except the first process of the session (a login or
/// scheduler). Returns nothing if this process is not visible.
std::set<unsigned> ProcessorPoll::processes_of_run(const Processes& all) const {
  const auto self = all.find(static_cast<unsigned>(std::stoul(self_)));
  if (self == all.end()) return {};
  std::set<unsigned> ranks{self->first};
  for (const unsigned rank : ranks_)
    if (const auto known = all.find(rank); known != all.end() && known->second.name == self->second.name)
      ranks.insert(rank);
  std::set<unsigned> found = ranks;
  for (const unsigned rank : ranks) {
    auto at = all.find(all.at(rank).parent);
    const unsigned session = at == all.end() ? 0 : at->second.session;
    while (at != all.end() && at->second.session == session && found.insert(at->first).second)
      at = all.find(at->second.parent);
  }
  return found;
}

/// Returns the processor time of kernel threads since the first poll. Includes ended threads, so the sum never falls.
double ProcessorPoll::kernel_seconds(std::map<unsigned, double> threads) {
  for (const auto& [number, seconds] : threads) {
    const auto before = kernel_before_.find(number);
    const bool is_known = before != kernel_before_.end() && before->second <= seconds;
    if (!is_first_) kernel_ += seconds - (is_known ? before->second : 0);
  }
  kernel_before_ = std::move(threads);
  is_first_ = false;
  return kernel_;
}

std::string ProcessorPoll::user_of(unsigned pid) const {
  struct stat about {};
  if (::stat((proc_ / std::to_string(pid)).c_str(), &about) != 0) return "";
  const auto known = users_.find(about.st_uid);
  return known == users_.end() ? "uid " + std::to_string(about.st_uid) : known->second;
}

}  // namespace linkmatrix
