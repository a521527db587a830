#pragma once

#include <filesystem>
#include <map>

#include "core/activity.hpp"
#include "device/host/activity.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// What others do where a rank is: on its device, or else on its processor, and of one rank of each node on the node's
/// processors.
class RankLook {
 public:
  explicit RankLook(const NodeRanks& ranks, const std::filesystem::path& root = "/")
      : ranks_{ranks}, processors_{root, true} {}

  /// As counters since some time; of processes on the node those that have used its processors since the first look,
  /// and how long.
  Activity now(Payload& payload);

 private:
  void add_node(Activity& look);

  NodeRanks ranks_;
  ProcessorLook processors_;
  std::map<unsigned, double> at_first_;  ///< seconds of each process of the node
  bool is_first_ = true;
};

}  // namespace linkmatrix::ranks
