#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "core/activity.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// The ranks of the run as the drivers of their systems number them.
class DriverPids {
 public:
  DriverPids() = default;

  /// Of all ranks. Ranks of one boot run on one system, whatever their nodes are called, as on a test cluster.
  explicit DriverPids(std::span<const RankFacts> ranks);

  /// Removes ranks of the run from the other processes on devices.
  void remove_ranks(Activity& poll) const;

 private:
  std::map<std::string, std::string> system_of_;       ///< of a rank, by label
  std::map<std::string, std::set<unsigned>> pids_of_;  ///< of a system
};

}  // namespace linkmatrix::ranks
