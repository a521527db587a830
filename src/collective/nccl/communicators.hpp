#pragma once

#include <nccl.h>

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "collective/nccl/nccl_worker.hpp"

namespace linkmatrix::nccl {

/// The NCCL communicators of a run: one with NCCL's own choices, and one for each forced algorithm and each set of
/// excluded ranks. Never destroyed, because that takes half a second.
class Communicators {
 public:
  /// Throws DeviceError if NCCL cannot start.
  Communicators(const NcclRanks& ranks, const NcclId& id);

  /// Returns one communicator per rank of this process, in order; null for an excluded rank. The first call for a case
  /// creates them; all processes must make it together.
  const std::vector<ncclComm_t>& get(const CollectiveCase& wanted);

 private:
  /// Settings with which a communicator is created.
  struct Forced {
    std::string algorithm{};  ///< NCCL_ALGO; empty: chosen by NCCL
    RankSet excluded{};       ///< excluded ranks

    std::strong_ordering operator<=>(const Forced&) const = default;
  };

  int first_;  ///< first rank of this process
  std::map<Forced, std::vector<ncclComm_t>> made_;
};

}  // namespace linkmatrix::nccl
