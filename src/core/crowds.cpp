#include "core/crowds.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/cpu_list.hpp"

namespace linkmatrix {
namespace {

constexpr double of_a_job = 0.9;  // processors: one process that never pauses had 0.98 by ticks, between a rank's turns

/// Whether a process may run on some of these cores: where it cannot be read, it may.
bool may_use(const OtherProcess& process, const std::vector<int>& cores) {
  return process.cores.empty() || share_a_core(cores_in(process.cores), cores);
}

std::string unlisted_sentence(double processors, const std::string& where) {
  std::array<char, 96> amount{};
  std::snprintf(amount.data(), amount.size(), "processes that cannot be listed had %.2g processors of ", processors);
  return amount.data() + where;
}

}  // namespace

Crowds::Crowds(const Activity& difference) {
  const double seconds = std::max(difference.seconds, 1e-9);
  for (const Use& use : difference.uses) {
    if (use.of != "cpu" || use.cores.empty()) continue;
    Group& group = nodes_[node_of_rank(use.label)].groups[use.cores];
    if (group.first.empty()) group.first = use.label, group.cores = cores_in(use.cores);
    ++group.alike;
    if (use.others) group.used = std::max(group.used.value_or(0), *use.others / seconds);
  }
  const bool by_processors = std::ranges::any_of(difference.uses, [](const Use& use) { return use.of == "cpu"; });
  for (const NodeLoad& node : difference.nodes)
    if (by_processors && !knows(node.node)) look_for_hidden(node, seconds);
  for (const OtherProcess& process : difference.processes) {
    const auto node = nodes_.find(process.where);
    if (node == nodes_.end() || process.is_on_device()) continue;
    const double had = process.seconds.value_or(0) / seconds;
    node->second.used += had;
    for (auto& [text, group] : node->second.groups)
      if (may_use(process, group.cores)) group.listed += had;
  }
  for (auto& [name, node] : nodes_)
    for (auto& [text, group] : node.groups) {
      for (const auto& [other, beside] : node.groups)
        if (share_a_core(group.cores, beside.cores)) group.ranks += beside.alike;
      if (!group.used) group.used = group.listed;
      node.used = std::max(node.used, *group.used);
    }
}

/// What started the run is counted twice, as its own and as a helper: so much less is said to be hidden.
void Crowds::look_for_hidden(const NodeLoad& node, double seconds) {
  if (!node.busy || !node.own_busy) return;
  double known = *node.own_busy + node.listed;
  for (const auto& [core, helped] : node.helpers) known += helped;
  if (const double had = (*node.busy - known) / seconds; had > of_a_job) hidden_[node.node] = had;
}

/// As the ranks take turns with others only where there are more of all than processors.
bool Crowds::Group::is_crowded() const {
  return *used > least_share && ranks + *used > static_cast<double>(cores.size());
}

bool Crowds::has(const OtherProcess& process) const {
  const Node& node = nodes_.at(process.where);
  return node.used > of_a_job || std::ranges::any_of(node.groups, [&](const auto& one) {
           return one.second.is_crowded() && may_use(process, one.second.cores);
         });
}

std::vector<std::string> Crowds::unlisted() const {
  std::vector<std::string> said;
  for (const auto& [name, node] : nodes_)
    for (const auto& [text, group] : node.groups) {
      if (!(group.is_crowded() || *group.used > of_a_job) || group.listed > *group.used / 2) continue;
      said.push_back(unlisted_sentence(*group.used - group.listed, group.first));
    }
  for (const auto& [name, had] : hidden_) said.push_back(unlisted_sentence(had, name));
  return said;
}

}  // namespace linkmatrix
