#include "ranks/rank_look.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ranks/activity_message.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double least_used_seconds = 0.05;  // of processors: a process that has used less is not sent
constexpr std::size_t most_processes = 16;   // of a node, those that have used most since the look before

}  // namespace

Activity RankLook::now(Payload& payload) {
  Activity look;
  if (DeviceWatch* const device = payload.device()) {
    device->look(look, this_rank);
  } else {
    processors_.add_self(look, this_rank);
    if (ranks_.is_crowded) {
      look.uses.back().counted.reset();
      look.untold.push_back(std::string(this_rank) + ": it shares its processors with other ranks");
    }
  }
  if (gpus_) add_gpus(look);
  for (OtherProcess& process : look.processes)
    if (!process.name.empty()) process.user = processors_.user_of(process.pid);
  if (ranks_.number == 0) add_node(look);
  return look;
}

/// Ranks of this run are left out: MPI may have made contexts for them.
void RankLook::add_gpus(Activity& look) {
  Activity gpus;
  gpus_(gpus, this_node);
  std::erase_if(gpus.processes, [this](const OtherProcess& process) {
    return std::ranges::find(ranks_.pids, process.pid) != ranks_.pids.end();
  });
  std::ranges::move(gpus.processes, std::back_inserter(look.processes));
  std::ranges::move(gpus.untold, std::back_inserter(look.untold));
}

/// Of thousands of nodes: what has done nothing since the look before is not sent.
void RankLook::add_node(Activity& look) {
  Activity node;
  processors_.add_node(node, this_node);
  std::vector<OtherProcess> busy;
  std::map<unsigned, double> now;
  for (OtherProcess& process : node.processes) {
    const double used = process.seconds.value_or(0);
    now.emplace(process.pid, used);
    double before = used;  // of the first look nobody knows since when
    if (before_) {
      const auto known = before_->find(process.pid);  // one of the same number that has used less is another
      before = known == before_->end() || known->second > used ? 0 : known->second;
    }
    process.lately = used - before;
    if (*process.lately >= least_used_seconds) busy.push_back(std::move(process));
  }
  before_ = std::move(now);
  std::ranges::stable_sort(busy, std::ranges::greater{}, [](const OtherProcess& one) { return *one.lately; });
  busy.resize(std::min(busy.size(), most_processes));
  for (OtherProcess& process : busy) process.cores = processors_.cores_of(process.pid);
  std::ranges::move(busy, std::back_inserter(look.processes));
  std::ranges::move(node.nodes, std::back_inserter(look.nodes));
  std::ranges::move(node.untold, std::back_inserter(look.untold));
}

}  // namespace linkmatrix::ranks
