#include "ranks/driver_pids.hpp"

#include "ranks/introduction.hpp"

namespace linkmatrix::ranks {

DriverPids::DriverPids(std::span<const RankFacts> ranks) {
  for (const RankFacts& rank : ranks) {
    const std::string system = text_of(rank.boot.front() != 0 ? rank.boot : rank.node);
    system_of_[label_of(rank)] = system;
    if (rank.driver_pid != 0) pids_of_[system].insert(rank.driver_pid);
  }
}

void DriverPids::remove_ranks(Activity& poll) const {
  std::erase_if(poll.processes, [this](const OtherProcess& process) {
    const auto system = process.is_on_device() ? system_of_.find(process.where) : system_of_.end();
    const auto pids = system == system_of_.end() ? pids_of_.end() : pids_of_.find(system->second);
    return pids != pids_of_.end() && pids->second.contains(process.pid);
  });
}

}  // namespace linkmatrix::ranks
