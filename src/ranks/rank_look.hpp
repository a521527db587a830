#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/activity.hpp"
#include "device/host/activity.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// Adds to a poll which processes have a context on the GPUs of a node, which none of its ranks uses.
using GpuPoll = std::function<void(Activity&, const std::string& node)>;

/// What others do where a rank is: on its device, or else on its processor, and of one rank of each node on the node's
/// processors and on GPUs that the ranks do not use.
class RankLook {
 public:
  /// gpus: of the first rank of a node; empty: none are polled.
  explicit RankLook(const NodeRanks& ranks, const std::filesystem::path& root = "/", GpuPoll gpus = {})
      : ranks_{ranks}, processors_{root, ranks.pids}, gpus_{std::move(gpus)} {}

  /// As counters since some time; of processes on the node those that have used its processors since the look before,
  /// and how long (`lately`): a list that has room for few lists others each time.
  Activity now(Payload& payload);

 private:
  void add_gpus(Activity& look);
  void add_node(Activity& look);

  NodeRanks ranks_;
  ProcessorLook processors_;
  GpuPoll gpus_;
  std::optional<std::map<unsigned, double>> before_;  ///< seconds of each process of the node, at the look before
};

}  // namespace linkmatrix::ranks
