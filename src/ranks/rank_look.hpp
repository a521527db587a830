#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "core/activity.hpp"
#include "device/host/activity.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// What others do where a rank is: on its device, or else on its processor, and of one rank of each node on the node's
/// processors.
class RankLook {
 public:
  explicit RankLook(const NodeRanks& ranks, const std::filesystem::path& root = "/")
      : ranks_{ranks}, processors_{root, ranks.pids} {}

  /// As counters since some time; of processes on the node those that have used its processors since the look before,
  /// and how long (`lately`): a list that has room for few lists others each time.
  Activity now(Payload& payload);

 private:
  void add_node(Activity& look);

  NodeRanks ranks_;
  ProcessorLook processors_;
  std::optional<std::map<unsigned, double>> before_;  ///< seconds of each process of the node, at the look before
};

}  // namespace linkmatrix::ranks
