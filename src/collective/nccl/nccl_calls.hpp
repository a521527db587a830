#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "collective/collective_words.hpp"
#include "collective/layout.hpp"

namespace linkmatrix::nccl {

/// Throws DeviceError with NCCL's text for every error, and NotAvailable if NCCL lacks the forced algorithm.
void check(ncclResult_t status, const char* call);

/// Throws DeviceError if a communicator failed since the last call.
void check_state(ncclComm_t communicator);

/// Returns NCCL's constant for an element type or a reduction; nothing if this version has none.
std::optional<ncclDataType_t> type_of(ElementType type);
ncclRedOp_t operation_of(Reduction reduction);

/// A rank of `all`, and where it sends from and receives into.
struct RankBuffers {
  int number, all;
  const std::byte* from;
  std::byte* to;
};

/// Puts a rank's part of a collective into its stream, inside a group of NCCL. Throws DeviceError and NotAvailable.
void begin(const CollectiveCase& wanted, const Layout& layout, const RankBuffers& rank, ncclComm_t comm,
           cudaStream_t stream);

}  // namespace linkmatrix::nccl
