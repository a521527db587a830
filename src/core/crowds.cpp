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
  for (const OtherProcess& process : difference.processes) {
    const auto node = nodes_.find(process.where);
    if (node == nodes_.end()) continue;
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
      std::array<char, 96> amount{};
      std::snprintf(amount.data(), amount.size(), "processes that cannot be listed had %.2g processors of ",
                    *group.used - group.listed);
      said.push_back(amount.data() + group.first);
    }
  return said;
}

}  // namespace linkmatrix
