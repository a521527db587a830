#pragma once

#include <nccl.h>

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "collective/nccl/nccl_worker.hpp"

namespace linkmatrix::nccl {

/// The communicators of one set of ranks: one whose choices are NCCL's, one for each that is forced, and one without
/// each set of ranks that is left out. They are left to the end of the process: to destroy them takes half a second.
class Communicators {
 public:
  /// Throws DeviceError where NCCL cannot begin.
  Communicators(const NcclRanks& ranks, const NcclId& id);

  /// Of every rank of this process, in order, null for one that is left out; made when it is first asked for, by all
  /// processes together.
  const std::vector<ncclComm_t>& of(const CollectiveCase& wanted);

 private:
  /// What forces a choice of NCCL when a communicator is made.
  struct Forced {
    std::string algorithm{};  ///< NCCL_ALGO; empty: its own choice
    RankSet left_out{};       ///< the ranks without it

    std::strong_ordering operator<=>(const Forced&) const = default;
  };

  int first_;
  std::map<Forced, std::vector<ncclComm_t>> made_;
};

}  // namespace linkmatrix::nccl
