#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/worker.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// Identifier of the first process that all processes of a communicator need: ncclUniqueId.
using NcclId = std::array<char, 128>;
NcclId new_nccl_id();

/// The ranks that this process has, by the devices' ordinals: `first` and those after it, of `ranks` in all.
struct NcclRanks {
  std::vector<int> ordinals;
  std::vector<std::string> labels;
  int first = 0, ranks = 0;
};

/// Collectives of NCCL between devices. Every forced algorithm has its own communicator. Throws DeviceError if NCCL
/// cannot start.
std::unique_ptr<CollectiveWorker> make_nccl_worker(NcclRanks ranks, const NcclId& id);

/// Why NCCL cannot do this, one sentence; nothing if it can.
std::optional<std::string> nccl_refusal(const CollectiveCase& wanted);

/// "2.28.3", of the library at hand.
std::string nccl_version();

}  // namespace linkmatrix
