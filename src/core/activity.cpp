#include "core/activity.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/crowds.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_processes = 8;   // of a node that have no context on a device
constexpr std::size_t most_named = 4;       // in a sentence
constexpr double least_busy_seconds = 0.1;  // of processors: below, a process is none that disturbs
constexpr std::size_t most_name = 64;
constexpr double least_traffic = 1e8;    // bytes a second: less comes from looking, and from drivers
constexpr double least_of_rate = 0.015;  // of what adapters carry: less explains no slow cell

std::optional<double> difference(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return *after - *before;
}

/// Of a rank's processors, which may have become others.
std::optional<double> had_by_others(const Use& before, const Use& after) {
  const bool fell = after.busy < before.busy || after.own < before.own;
  if (before.cores != after.cores || fell || !before.others || !after.others) return std::nullopt;
  return std::max(0.0, *after.others - *before.others);
}

template <class T, class Same>
const T* found_in(const std::vector<T>& items, const Same& same) {
  const auto found = std::find_if(items.begin(), items.end(), same);
  return found == items.end() ? nullptr : &*found;
}

bool is_traffic(const Use& use) { return use.of.ends_with("_out") || use.of.ends_with("_in"); }

/// Which process of two looks: a node may be called as one of its devices is.
using Which = std::tuple<std::string_view, bool, unsigned>;
Which which(const OtherProcess& one) { return {one.where, one.is_on_device(), one.pid}; }

/// All of the later look, with what they used since the one before.
std::vector<OtherProcess> used_between(const Activity& before, const Activity& after) {
  std::map<Which, const OtherProcess*> earlier;
  for (const OtherProcess& one : before.processes) earlier.emplace(which(one), &one);
  std::vector<OtherProcess> found = after.processes;
  for (OtherProcess& process : found) {
    const auto known = earlier.find(which(process));
    if (process.lately)
      process.seconds = process.lately;
    else if (known != earlier.end())
      process.seconds = difference(known->second->seconds, process.seconds);
  }
  return found;
}

/// Of them those that are worth a word, and those that have left a device.
std::vector<OtherProcess> worth_a_word(const std::vector<OtherProcess>& used, const Activity& before) {
  std::vector<OtherProcess> on_devices, others;
  std::set<Which> later;
  for (const OtherProcess& process : used) {
    later.insert(which(process));
    if (process.is_on_device())
      on_devices.push_back(process);
    else if (process.seconds.value_or(0) >= least_busy_seconds)
      others.push_back(process);
  }
  for (OtherProcess process : before.processes)  // it has ended: what it used by then nobody knows
    if (process.is_on_device() && !later.contains(which(process))) {
      process.seconds.reset();
      on_devices.push_back(std::move(process));
    }
  std::ranges::stable_sort(others, std::ranges::greater{}, [](const OtherProcess& one) { return *one.seconds; });
  std::map<std::string, std::size_t> kept;
  for (OtherProcess& process : others)
    if (kept[process.where]++ < most_processes) on_devices.push_back(std::move(process));
  return on_devices;
}

/// Of each core.
std::map<int, double> difference(const std::map<int, double>& before, const std::map<int, double>& after) {
  std::map<int, double> found;
  for (const auto& [core, seconds] : after) {
    const auto earlier = before.find(core);
    found[core] = std::max(0.0, seconds - (earlier == before.end() ? 0 : earlier->second));
  }
  return found;
}

NodeLoad difference(const NodeLoad& before, const NodeLoad& after) {
  return {after.node,
          after.load,
          difference(before.stalled, after.stalled),
          difference(before.stolen, after.stolen),
          difference(before.busy, after.busy),
          difference(before.own_busy, after.own_busy),
          difference(before.helpers, after.helpers),
          0,
          before.quota == after.quota ? difference(before.throttled, after.throttled) : std::nullopt,
          after.quota};
}

}  // namespace

Activity between(const Activity& before, const Activity& after) {
  Activity found;
  found.seconds = std::max(0.0, after.seconds - before.seconds);
  using Label = std::pair<std::string_view, std::string_view>;
  std::map<Label, const Use*> uses_before;  // of thousands of ranks
  for (const Use& use : before.uses) uses_before.emplace(Label(use.label, use.of), &use);
  for (const Use& use : after.uses)
    if (const auto earlier = uses_before.find(Label(use.label, use.of)); earlier != uses_before.end())
      found.uses.push_back({use.label, use.of, difference(earlier->second->counted, use.counted),
                            difference(earlier->second->own, use.own), use.by, use.rate, use.cores,
                            difference(earlier->second->busy, use.busy), had_by_others(*earlier->second, use)});
  const std::vector<OtherProcess> used = used_between(before, after);
  std::map<std::string_view, double> listed;
  for (const OtherProcess& process : used)
    if (!process.is_on_device()) listed[process.where] += process.seconds.value_or(0);
  for (const NodeLoad& node : after.nodes) {
    const NodeLoad* const earlier = found_in(before.nodes, [&](const NodeLoad& one) { return one.node == node.node; });
    if (earlier == nullptr) continue;
    found.nodes.push_back(difference(*earlier, node));
    found.nodes.back().listed = listed[node.node];
  }
  found.processes = worth_a_word(used, before);
  found.untold = after.untold;
  found.shared = before.shared && after.shared ? std::optional(*before.shared || *after.shared) : std::nullopt;
  return found;
}

void lose_own_bytes(Activity& difference) {
  for (Use& use : difference.uses)
    if (is_traffic(use)) use.own.reset();
}

Activity at_rest(const Activity& look) {
  Activity found;
  found.shared = look.shared;
  for (const OtherProcess& process : look.processes)
    if (process.is_on_device()) found.processes.push_back(process);
  found.untold = look.untold;
  return found;
}

std::optional<std::string> disturbance(const Activity& difference) {
  std::vector<std::string> said;
  const bool by_processors = found_in(difference.uses, [](const Use& use) { return use.of == "cpu"; }) != nullptr;
  const Crowds crowds(difference);
  std::vector<OtherProcess> who;
  for (const OtherProcess& process : difference.processes) {
    const bool runs =
        by_processors && (crowds.knows(process.where) ? crowds.has(process)
                                                      : process.seconds.value_or(0) > least_share * difference.seconds);
    if (process.is_on_device() || runs) who.push_back(process);
  }
  if (!who.empty()) said.push_back(list_of(who));
  for (const std::string& sentence : crowds.unlisted()) said.push_back(sentence);
  for (const Use& use : difference.uses) {
    if (!is_traffic(use) || !use.counted || !use.own) continue;
    const double rate = (*use.counted - *use.own) / std::max(difference.seconds, 1e-9);
    if (rate < std::max(least_traffic, least_of_rate * use.rate)) continue;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.1f GB/s of %s that nobody here moves", rate * 1e-9, use.of.c_str());
    said.push_back(use.label + " has " + text.data());
  }
  return said.empty() ? std::nullopt : std::optional(join(said, "; "));
}

std::vector<std::string> held_back(const Activity& difference) {
  std::vector<std::string> said;
  for (const NodeLoad& node : difference.nodes) {
    if (node.throttled.value_or(0) < least_busy_seconds) continue;
    std::array<char, 32> seconds{};
    std::snprintf(seconds.data(), seconds.size(), "%.1f s", *node.throttled);
    said.push_back(node.node + ": the job's CPU quota held it back for " + seconds.data() + " (" + node.quota +
                   "): give it more cores");
  }
  return said;
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

std::string list_of(std::span<const OtherProcess> processes) {
  std::vector<std::string> each;
  for (const OtherProcess& process : processes.first(std::min(processes.size(), most_named))) {
    std::vector<std::string> who;
    for (const std::string* text : {&process.name, &process.user})
      if (!text->empty()) who.push_back(*text);
    each.push_back("pid " + std::to_string(process.pid) + (who.empty() ? "" : " (" + join(who) + ")") + " on " +
                   process.where);
  }
  if (processes.size() > most_named) each.push_back("and " + std::to_string(processes.size() - most_named) + " more");
  return join(each);
}

}  // namespace linkmatrix
