#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/activity.hpp"
#include "device/host/activity.hpp"
#include "ranks/messages.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// Adds to a poll which processes have a context on the GPUs of a node, which none of its ranks uses.
using GpuPoll = std::function<void(Activity&, const std::string& node)>;

/// Polls other processes where a rank is: on its device, and, for the first rank of a node, on the node's cores and on
/// GPUs that the ranks do not use. A rank without a device adds its own processor time.
class RankPoll {
 public:
  /// gpus: of the first rank of a node; empty: none are polled.
  explicit RankPoll(const NodeRanks& ranks, const std::filesystem::path& root = "/", GpuPoll gpus = {})
      : ranks_{ranks}, processors_{root, ranks.pids}, gpus_{std::move(gpus)} {}

  /// Of the processes on the node, those that used its cores most since the previous poll, with that time (`lately`).
  Activity now(Payload& payload);

 private:
  void add_gpus(Activity& poll);
  void add_node(Activity& poll);

  NodeRanks ranks_;
  ProcessorPoll processors_;
  GpuPoll gpus_;
  std::optional<std::map<unsigned, double>> before_;  ///< seconds of each process of the node, at the previous poll
};

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
