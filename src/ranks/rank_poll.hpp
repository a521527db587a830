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

/// Adds processes on GPUs of a node to a poll.
using GpuPoll = std::function<void(Activity&, const std::string& node)>;

/// Polls on behalf of one rank: other processes on its device; without a device, its own processor time. The first rank
/// of a node also polls the node's cores and unused GPUs.
class RankPoll {
 public:
  /// gpus: polls unused GPUs, on the first rank of a node; may be empty.
  explicit RankPoll(const NodeRanks& ranks, const std::filesystem::path& root = "/", GpuPoll gpus = {})
      : ranks_{ranks}, processors_{root, ranks.pids}, gpus_{std::move(gpus)} {}

  /// Returns a poll. Contains the processes that used the node's cores most since the previous poll.
  Activity now(Payload& payload);

 private:
  void add_gpus(Activity& poll);
  void add_node(Activity& poll);

  NodeRanks ranks_;
  ProcessorPoll processors_;
  GpuPoll gpus_;
  std::optional<std::map<unsigned, double>> before_;  ///< processor time of each process at the previous poll
};

/// Process numbers of the run's ranks in the numbering of the GPU drivers.
class DriverPids {
 public:
  DriverPids() = default;

  /// ranks: facts of all ranks. Ranks with the same boot identifier share a driver.
  explicit DriverPids(std::span<const RankFacts> ranks);

  /// Removes the run's ranks from the other processes on devices.
  void remove_ranks(Activity& poll) const;

 private:
  std::map<std::string, std::string> system_of_;       ///< system of each rank, by label
  std::map<std::string, std::set<unsigned>> pids_of_;  ///< process numbers per system
};

}  // namespace linkmatrix::ranks
