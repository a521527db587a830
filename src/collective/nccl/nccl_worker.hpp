#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/worker.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// ncclUniqueId: the first process creates it, and all processes of a communicator need it.
using NcclId = std::array<char, 128>;
NcclId new_nccl_id();

/// The ranks of this process, one per device.
struct NcclRanks {
  std::vector<int> ordinals;  ///< CUDA ordinals of the devices
  std::vector<std::string> labels;
  int first = 0, ranks = 0;  ///< number of the first rank of this process, and number of all ranks
};

/// Creates the worker for NCCL collectives between devices. Throws DeviceError if NCCL cannot start.
std::unique_ptr<CollectiveWorker> make_nccl_worker(NcclRanks ranks, const NcclId& id);

/// Returns one sentence on why NCCL does not support the case; nothing if NCCL supports it.
std::optional<std::string> nccl_refusal(const CollectiveCase& wanted);

/// Returns the version of the loaded library: "2.28.3".
std::string nccl_version();

}  // namespace linkmatrix
