#pragma once

#include <nccl.h>

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "collective/nccl/nccl_worker.hpp"

namespace linkmatrix::nccl {

/// Communicators of one set of ranks: one with NCCL's choices, one per forced algorithm, and one per set of excluded
/// ranks. They are not destroyed before the end of the process, because that takes half a second.
class Communicators {
 public:
  /// Throws DeviceError if NCCL cannot start.
  Communicators(const NcclRanks& ranks, const NcclId& id);

  /// Returns the communicator of every rank of this process, in order; null for an excluded rank. Created at the first
  /// call, by all processes together.
  const std::vector<ncclComm_t>& of(const CollectiveCase& wanted);

 private:
  /// Settings that force a choice of NCCL when a communicator is created.
  struct Forced {
    std::string algorithm{};  ///< NCCL_ALGO; empty: chosen by NCCL
    RankSet left_out{};       ///< excluded ranks

    std::strong_ordering operator<=>(const Forced&) const = default;
  };

  int first_;
  std::map<Forced, std::vector<ncclComm_t>> made_;
};

}  // namespace linkmatrix::nccl
