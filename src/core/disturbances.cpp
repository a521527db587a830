#include "core/disturbances.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr double least_seconds = 0.05;   // processor time below the resolution: the kernel counts ticks of 10 ms
constexpr double least_traffic = 1e8;    // limit in bytes per second for adapters of unknown rate
constexpr double least_of_others = 0.1;  // smallest fraction of the usage by other processes that names a process
constexpr std::size_t most_named = 4;    // processes per sentence
constexpr std::size_t kernel_name = 15;  // the kernel truncates names of executables to this length

bool is_any(const std::string& pattern) { return pattern == "*"; }

class Decision {
 public:
  explicit Decision(Activity& difference) : all_{difference}, seconds_{std::max(difference.seconds, 1e-9)} {}

  void contexts() {
    for (const OtherProcess& process : all_.processes) {
      if (!process.is_on_device()) continue;
      auto known = std::ranges::find(all_.disturbances, process.where, &Disturbance::where);
      if (known == all_.disturbances.end()) {
        add({node_of(process.where, all_), DisturbanceKind::context, process.where});
        known = std::prev(all_.disturbances.end());
      }
      if (process.pid != 0) known->pids.push_back(process.pid);
    }
  }

  /// Includes the usage of processes that no poll lists: they ended between polls, or a container hides them.
  void nodes() {
    for (const NodeLoad& node : all_.nodes) {
      const double used = used_of(node);
      const double share = used / (seconds_ * std::max(1, node.cores));
      const double most = std::min(most_cores_share * node.cores, most_cores);
      if (node.cores > 0 && used >= least_seconds && used > most * seconds_)
        add({node.node, DisturbanceKind::cpu, node.node, std::min(1.0, share), users_of(node.node, used)});
    }
  }

  void adapters() {
    for (const Use& use : all_.uses) {
      if (use.of == "cpu" || !use.counted || !use.own) continue;
      const double rate = (*use.counted - *use.own) / seconds_, all = *use.counted / seconds_;
      const double carried = use.rate > 0 ? use.rate : all;
      if (rate <= most_adapter_share * carried || (use.rate == 0 && rate < least_traffic)) continue;
      const auto share = use.rate > 0 ? std::optional(std::min(1.0, rate / use.rate)) : std::nullopt;
      const auto known = std::ranges::find_if(all_.disturbances, [&](const Disturbance& one) {
        return one.kind == DisturbanceKind::adapter && one.node == use.label;
      });
      if (known == all_.disturbances.end())
        add({use.label, DisturbanceKind::adapter, use.by, share, {}});
      else
        known->share = std::max(known->share, share);  // the other direction is already recorded
    }
  }

 private:
  void add(Disturbance disturbance) { all_.disturbances.push_back(std::move(disturbance)); }

  double used_of(const NodeLoad& node) const {
    if (!node.busy || !node.own_busy) return node.listed;
    return std::max(node.listed, *node.busy - own_of(node) - node.kernel - node.ignored);
  }

  /// Returns the usage by this run. Includes the usage that ranks report themselves, because ranks in separate
  /// containers do not see each other.
  double own_of(const NodeLoad& node) const {
    double of_ranks = 0;
    for (const Use& use : all_.uses)
      if (use.of == "cpu" && node_of_rank(use.label) == node.node) of_ranks += use.own.value_or(0);
    return std::max(*node.own_busy, of_ranks);
  }

  /// Returns the processes with at least a tenth of the usage of all other processes.
  std::vector<unsigned> users_of(const std::string& node, double used) const {
    std::vector<unsigned> found;
    for (const OtherProcess& process : all_.processes)
      if (!process.is_on_device() && process.where == node && process.seconds.value_or(0) >= least_of_others * used)
        found.push_back(process.pid);
    return found;
  }

  Activity& all_;
  double seconds_;
};

/// Returns the first processes, "pid 2983 (hog, user bob), pid 12", or "an unnamed process" if none is known.
std::string names_of(const Disturbance& disturbance, const Activity& activity) {
  std::vector<std::string> names;
  for (const unsigned pid : disturbance.pids) {
    if (names.size() == most_named) {
      names.push_back("and " + std::to_string(disturbance.pids.size() - most_named) + " more");
      break;
    }
    const bool on_device = disturbance.kind == DisturbanceKind::context || disturbance.kind == DisturbanceKind::memory;
    const std::string& where = on_device ? disturbance.where : disturbance.node;
    const auto process = std::ranges::find_if(activity.processes, [&](const OtherProcess& one) {
      return one.pid == pid && one.where == where && one.is_on_device() == on_device;
    });
    std::string name = "pid " + std::to_string(pid);
    if (process == activity.processes.end() || process->name.empty())
      name += " (unnamed)";
    else
      name += " (" + process->name + (process->user.empty() ? "" : ", user " + process->user) + ")";
    names.push_back(name);
  }
  return names.empty() ? "an unnamed process" : join(names);
}

std::string percent_of(std::optional<double> share) { return share ? formatted("%.0f %% of ", 100 * *share) : ""; }

std::string sentence_of(const Disturbance& disturbance, const Activity& activity) {
  const bool several = disturbance.pids.size() > 1;
  const std::string processes = names_of(disturbance, activity);
  const std::string uses = processes + (several ? " use " : " uses ") + percent_of(disturbance.share);
  switch (disturbance.kind) {
    case DisturbanceKind::context:
      return processes + (several ? " have" : " has") + " a context on " + disturbance.where;
    case DisturbanceKind::memory:
      return processes + (several ? " hold" : " holds") + " the memory of " + disturbance.where;
    case DisturbanceKind::adapter:
      return uses + disturbance.where + " of " + disturbance.node;
    case DisturbanceKind::cpu:
      break;
  }
  return uses + "the cores of " + disturbance.node;
}

constexpr auto nap = std::chrono::milliseconds(20);  // short, so that a signal ends the wait soon

void pause(double seconds, Deadline end) {
  const Deadline over = Deadline::in(seconds);
  while (!over.passed()) {
    if (end.passed())
      throw TimedOut("--timeout passed during --wait-idle, because other processes used the node: raise --timeout");
    std::this_thread::sleep_for(nap);
  }
  if (end.passed())
    throw TimedOut("--timeout passed during --wait-idle, because other processes used the node: raise --timeout");
}

}  // namespace

bool IgnoredProcess::matches(const OtherProcess& process) const {
  const bool is_cut = process.name.size() == kernel_name && name.size() > kernel_name;
  const bool same_name = is_any(name) || name == process.name || (is_cut && name.starts_with(process.name));
  return same_name && (is_any(user) || user == process.user || "uid " + user == process.user);
}

std::vector<IgnoredProcess> parse_ignored_processes(std::string_view text) {
  std::vector<IgnoredProcess> found;
  for (const std::string& part : split(text, ',')) {
    const auto colon = part.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == part.size())
      throw BadInput("--ignore-processes '" + std::string(text) +
                     "': use NAME:USER[,NAME:USER…], such as nv-hostengine:root; * matches any");
    found.push_back({part.substr(0, colon), part.substr(colon + 1)});
  }
  return found;
}

void mark_ignored(Activity& poll, const std::vector<IgnoredProcess>& ignored) {
  for (OtherProcess& process : poll.processes)
    process.ignored = std::ranges::any_of(ignored, [&](const IgnoredProcess& one) { return one.matches(process); });
  poll.ignores_all =
      std::ranges::any_of(ignored, [](const IgnoredProcess& one) { return is_any(one.name) && is_any(one.user); });
}

void decide_disturbances(Activity& difference) {
  difference.disturbances.clear();
  if (difference.ignores_all) return;
  Decision decision(difference);
  decision.contexts();
  decision.nodes();
  decision.adapters();
}

void add_memory_disturbance(Activity& difference, const std::string& device) {
  Disturbance found{node_of(device, difference), DisturbanceKind::memory, device};
  for (const OtherProcess& process : difference.processes)
    if (process.is_on_device() && process.where == device && process.pid != 0) found.pids.push_back(process.pid);
  difference.disturbances.push_back(std::move(found));
}

std::optional<std::string> sentence_of(const Activity& difference) {
  std::vector<std::string> sentences;
  for (const Disturbance& one : difference.disturbances) sentences.push_back(sentence_of(one, difference));
  return sentences.empty() ? std::nullopt : std::optional(join(sentences, "; "));
}

IdleWait wait_until_idle(const std::function<Activity()>& poll, Deadline patience, Deadline end, double interval) {
  IdleWait wait{poll(), {}, {}};
  do {
    pause(interval, end);
    Activity now = poll();
    wait.between = between(wait.last, now);
    decide_disturbances(wait.between);
    wait.last = std::move(now);
    wait.busy_sentence = sentence_of(wait.between);
  } while (wait.busy_sentence && !patience.passed());
  return wait;
}

std::string busy_sentence(const std::string& processes, double waited) {
  std::string text = "another process uses the node: " + processes;
  if (waited > 0) text += formatted(", still after %g s", waited);
  return text + ": wait longer with --wait-idle SECONDS, or measure anyway without --refuse-busy";
}

}  // namespace linkmatrix
