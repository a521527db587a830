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

/// The ranks of this process, by the ordinals of their devices: `first` and the following ones, of `ranks` in total.
struct NcclRanks {
  std::vector<int> ordinals;
  std::vector<std::string> labels;
  int first = 0, ranks = 0;
};

/// Collectives of NCCL between devices. Every forced algorithm has its own communicator. Throws DeviceError if NCCL
/// cannot start.
std::unique_ptr<CollectiveWorker> make_nccl_worker(NcclRanks ranks, const NcclId& id);

/// Returns one sentence on why NCCL does not support the case; nothing if NCCL supports it.
std::optional<std::string> nccl_refusal(const CollectiveCase& wanted);

/// "2.28.3", of the library at hand.
std::string nccl_version();

}  // namespace linkmatrix
