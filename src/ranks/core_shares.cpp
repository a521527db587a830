#include "ranks/core_shares.hpp"

#include <algorithm>
#include <optional>

#include "core/cpu_list.hpp"
#include "ranks/introduction.hpp"

namespace linkmatrix::ranks {
namespace {

/// Ranks that may use the same cores.
struct Group {
  std::vector<int> cores;
  std::vector<Use*> ranks;
  double own = 0;  ///< seconds of all of them there
};

struct System {
  std::map<std::string, Group> groups;  ///< by their cores, as text
  std::map<int, double> helpers;        ///< seconds by core: the kernel's threads, and what started the run
  std::map<int, double> roaming;        ///< likewise: ranks' threads that may run elsewhere than their rank
  std::size_t ranks = 0;                ///< that say how long they ran, and where
};

double sum_of(const std::map<int, double>& seconds, const std::vector<int>& cores) {
  double sum = 0;
  for (const int core : cores)
    if (const auto found = seconds.find(core); found != seconds.end()) sum += found->second;
  return sum;
}

/// What ranks had of these cores; nothing where some may use others too, and nobody knows which of them they had.
std::optional<double> of_ranks(const std::map<std::string, Group>& groups, const std::vector<int>& cores) {
  double sum = 0;
  for (const auto& [text, group] : groups) {
    if (!share_a_core(cores, group.cores)) continue;
    if (!std::ranges::includes(cores, group.cores)) return std::nullopt;
    sum += group.own;
  }
  return sum;
}

void count(System& system) {
  for (auto& [text, group] : system.groups) {
    const auto own = of_ranks(system.groups, group.cores);
    const double beside = sum_of(system.helpers, group.cores) + sum_of(system.roaming, group.cores);
    for (Use* const rank : group.ranks)
      if (rank->busy && own) rank->others = *rank->busy - *own - beside;
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
    for (const auto& [core, seconds] : use.roaming) {
      group.own -= seconds;
      system.roaming[core] += seconds;
    }
  }
  for (const NodeLoad& node : look.nodes) {
    const auto known = system_of_node.find(node.node);
    if (known == system_of_node.end()) continue;
    for (const auto& [core, seconds] : node.helpers) {
      double& most = systems[known->second].helpers[core];
      most = std::max(most, seconds);
    }
  }
  for (auto& [name, system] : systems)
    if (system.ranks == ranks_of_.at(name)) count(system);
}

}  // namespace linkmatrix::ranks
