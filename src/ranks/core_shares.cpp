#include "ranks/core_shares.hpp"

#include <algorithm>

#include "core/cpu_list.hpp"
#include "ranks/introduction.hpp"

namespace linkmatrix::ranks {
namespace {

/// Ranks that may use the same cores.
struct Group {
  std::vector<int> cores;
  std::vector<Use*> ranks;
  double own = 0;  ///< seconds of all of them
};

struct System {
  std::map<std::string, Group> groups;  ///< by their cores, as text
  std::map<int, double> kernel;         ///< seconds of its threads, by core
  std::size_t ranks = 0;                ///< that say how long they ran, and where
};

void count(System& system) {
  for (auto& [text, group] : system.groups) {
    double ours = 0;
    for (const auto& [other, beside] : system.groups)
      if (share_a_core(group.cores, beside.cores)) ours += beside.own;
    for (const int core : group.cores)
      if (const auto kernel = system.kernel.find(core); kernel != system.kernel.end()) ours += kernel->second;
    for (Use* const rank : group.ranks)
      if (rank->busy) rank->others = *rank->busy - ours;
  }
}

}  // namespace

CoreShares::CoreShares(std::span<const RankFacts> ranks) {
  for (const RankFacts& rank : ranks) {
    const std::string system = text_of(rank.boot.front() != 0 ? rank.boot : rank.node);
    system_of_[label_of(rank)] = system;
    ++ranks_of_[system];
  }
}

void CoreShares::count_others(Activity& look) const {
  std::map<std::string, System> systems;
  std::map<std::string, std::string> system_of_node;
  for (Use& use : look.uses) {
    const auto known = system_of_.find(use.label);
    if (use.of != "cpu" || known == system_of_.end()) continue;
    system_of_node[node_of_rank(use.label)] = known->second;
    if (!use.own || use.cores.empty()) continue;
    System& system = systems[known->second];
    ++system.ranks;
    Group& group = system.groups[use.cores];
    if (group.ranks.empty()) group.cores = cores_in(use.cores);
    group.ranks.push_back(&use);
    group.own += *use.own;
  }
  for (const NodeLoad& node : look.nodes) {
    const auto known = system_of_node.find(node.node);
    if (known == system_of_node.end()) continue;
    for (const auto& [core, seconds] : node.kernel) {
      double& most = systems[known->second].kernel[core];
      most = std::max(most, seconds);
    }
  }
  for (auto& [name, system] : systems)
    if (system.ranks == ranks_of_.at(name)) count(system);
}

}  // namespace linkmatrix::ranks
