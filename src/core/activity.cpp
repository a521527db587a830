#include "core/activity.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace linkmatrix {
namespace {

constexpr std::size_t most_processes = 8;   // listed processes per node without a context on a device
constexpr double least_busy_seconds = 0.1;  // processor time of the smallest listed process
constexpr std::size_t most_name = 64;

std::optional<double> difference(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

/// Identifies a process in two polls. Contains whether `where` is a device, because a node may be named like a device.
using ProcessKey = std::tuple<std::string_view, bool, unsigned>;
ProcessKey key_of(const OtherProcess& one) { return {one.where, one.is_on_device(), one.pid}; }

/// Returns the processes of the later poll, with their usage since the earlier poll.
std::vector<OtherProcess> processes_between(const Activity& before, const Activity& after) {
  std::map<ProcessKey, const OtherProcess*> earlier;
  for (const OtherProcess& one : before.processes) earlier.emplace(key_of(one), &one);
  std::vector<OtherProcess> found = after.processes;
  for (OtherProcess& process : found) {
    const auto known = earlier.find(key_of(process));
    if (process.lately)
      process.seconds = process.lately;
    else if (known != earlier.end())
      process.seconds = difference(known->second->seconds, process.seconds);
  }
  return found;
}

/// Selects processes with a current or earlier context on a device, and the busiest other processes of each node.
std::vector<OtherProcess> listed_processes(const std::vector<OtherProcess>& used, const Activity& before) {
  std::vector<OtherProcess> on_devices, others;
  std::set<ProcessKey> later;
  for (const OtherProcess& process : used) {
    later.insert(key_of(process));
    if (process.is_on_device())
      on_devices.push_back(process);
    else if (process.seconds.value_or(0) >= least_busy_seconds)
      others.push_back(process);
  }
  for (OtherProcess process : before.processes)  // ended processes: their usage is unknown
    if (process.is_on_device() && !later.contains(key_of(process))) {
      process.seconds.reset();
      on_devices.push_back(std::move(process));
    }
  std::ranges::stable_sort(others, std::ranges::greater{}, [](const OtherProcess& one) { return *one.seconds; });
  std::map<std::pair<std::string, bool>, std::size_t> kept;
  for (OtherProcess& process : others)
    if (kept[{process.where, process.ignored}]++ < most_processes) on_devices.push_back(std::move(process));
  return on_devices;
}

NodeLoad difference(const NodeLoad& before, const NodeLoad& after) {
  return {.node = after.node,
          .cores = after.cores,
          .busy = difference(before.busy, after.busy),
          .own_busy = difference(before.own_busy, after.own_busy),
          .kernel = std::max(0.0, after.kernel - before.kernel)};
}

void add_seconds(std::vector<NodeLoad>& nodes, const std::vector<OtherProcess>& used) {
  for (const OtherProcess& process : used) {
    if (process.is_on_device()) continue;
    const auto node = std::ranges::find(nodes, process.where, &NodeLoad::node);
    if (node != nodes.end()) (process.ignored ? node->ignored : node->listed) += process.seconds.value_or(0);
  }
}

void set_shared(Activity& activity) {
  if (activity.shared && std::ranges::any_of(activity.processes, &OtherProcess::is_on_device)) activity.shared = true;
}

/// Moves the processes of --ignore-processes to the list `ignored`.
void split_ignored(Activity& activity) {
  for (const OtherProcess& process : activity.processes)
    if (process.ignored) activity.ignored.push_back(process);
  std::erase_if(activity.processes, [](const OtherProcess& process) { return process.ignored; });
}

}  // namespace

Activity between(const Activity& before, const Activity& after) {
  Activity found;
  found.seconds = std::max(0.0, after.seconds - before.seconds);
  found.ignores_all = after.ignores_all;
  using Label = std::pair<std::string_view, std::string_view>;
  std::map<Label, const Use*> uses_before;  // a map, because there may be thousands of ranks
  for (const Use& use : before.uses) uses_before.emplace(Label(use.label, use.of), &use);
  for (const Use& use : after.uses)
    if (const auto earlier = uses_before.find(Label(use.label, use.of)); earlier != uses_before.end())
      found.uses.push_back({use.label, use.of, difference(earlier->second->counted, use.counted),
                            difference(earlier->second->own, use.own), use.by, use.rate, use.cores});
  const std::vector<OtherProcess> used = processes_between(before, after);
  for (const NodeLoad& node : after.nodes)
    if (const auto earlier = std::ranges::find(before.nodes, node.node, &NodeLoad::node); earlier != before.nodes.end())
      found.nodes.push_back(difference(*earlier, node));
  add_seconds(found.nodes, used);
  found.processes = listed_processes(used, before);
  split_ignored(found);
  found.untold = after.untold;
  found.shared = before.shared && after.shared ? std::optional(*before.shared || *after.shared) : std::nullopt;
  set_shared(found);
  return found;
}

void forget_own_bytes(Activity& difference) {
  for (Use& use : difference.uses)
    if (use.of != "cpu") use.own.reset();
}

Activity single_poll_usage(const Activity& poll) {
  Activity found;
  found.shared = poll.shared;
  found.ignores_all = poll.ignores_all;
  for (const NodeLoad& node : poll.nodes) found.nodes.push_back({.node = node.node, .cores = node.cores});
  for (const OtherProcess& process : poll.processes)
    if (process.is_on_device()) found.processes.push_back(process);
  split_ignored(found);
  set_shared(found);
  found.untold = poll.untold;
  return found;
}

void remember_contexts(Activity& earlier, const Activity& poll) {
  std::set<ProcessKey> known;
  for (const OtherProcess& process : earlier.processes) known.insert(key_of(process));
  std::vector<OtherProcess> added;
  for (const OtherProcess& process : poll.processes)
    if (process.is_on_device() && !known.contains(key_of(process))) added.push_back(process);
  earlier.processes.insert(earlier.processes.end(), added.begin(), added.end());
}

std::string node_of_rank(const std::string& label) {
  const auto colon = label.rfind(':');
  return colon == std::string::npos ? "" : label.substr(0, colon);
}

std::string printable_name(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return name.substr(0, most_name);
}

std::string node_of(const std::string& label, const Activity& activity) {
  const std::string node = node_of_rank(label);
  return !node.empty() || activity.nodes.empty() ? node : activity.nodes.front().node;
}

}  // namespace linkmatrix
