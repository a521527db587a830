#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// Which ranks have the same processors, and what others had of them.
class CoreShares {
 public:
  CoreShares() = default;

  /// Of all ranks. Those of one boot run on one system, whatever their nodes are called, as on a test cluster.
  explicit CoreShares(std::span<const RankFacts> ranks);

  /// Sets `Use::others` of each rank's "cpu": for how long the cores that it may use worked, but for ranks of the run,
  /// for threads of the kernel and for what started the run, as far as they were seen. Not of ranks on a system where
  /// one does not say how long it ran, nor of those some of whose cores are a rank's that may use others too.
  void count_others(Activity& look) const;

 private:
  std::map<std::string, std::string> system_of_;  ///< of a rank, by label
  std::map<std::string, std::size_t> ranks_of_;   ///< of a system
};

}  // namespace linkmatrix::ranks
