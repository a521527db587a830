#include "ranks/rank_look.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ranks/activity_message.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double least_seconds = 0.05;      // of processors: a process that has used less is not sent
constexpr std::size_t most_processes = 16;  // of a node, those that have used most

}  // namespace

Activity RankLook::now(Payload& payload) {
  Activity look;
  if (!payload.look(look, this_rank, ranks_)) {
    processors_.add_self(look, this_rank);
    if (ranks_.is_crowded) {
      look.uses.back().counted.reset();
      look.untold.push_back(std::string(this_rank) + ": it shares its processors with other ranks");
    }
  }
  for (OtherProcess& process : look.processes) process.user = processors_.user_of(process.pid);
  if (ranks_.number == 0) add_node(look);
  is_first_ = false;
  return look;
}

/// Of thousands of nodes: what has done nothing since the run began is not sent.
void RankLook::add_node(Activity& look) {
  Activity node;
  processors_.add_node(node, this_node);
  std::vector<OtherProcess> busy;
  for (OtherProcess& process : node.processes) {
    const double used = process.seconds.value_or(0);
    if (is_first_) at_first_[process.pid] = used;
    const auto known = at_first_.find(process.pid);
    // one of the same number that has used less is another
    process.seconds = used - (known == at_first_.end() || known->second > used ? 0 : known->second);
    if (*process.seconds >= least_seconds) busy.push_back(std::move(process));
  }
  std::ranges::stable_sort(busy, std::ranges::greater{}, [](const OtherProcess& one) { return *one.seconds; });
  busy.resize(std::min(busy.size(), most_processes));
  std::ranges::move(busy, std::back_inserter(look.processes));
  std::ranges::move(node.nodes, std::back_inserter(look.nodes));
  std::ranges::move(node.untold, std::back_inserter(look.untold));
}

}  // namespace linkmatrix::ranks
