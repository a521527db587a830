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

/// Throws DeviceError with what NCCL says for anything but success, and NotAvailable where it has not what was forced.
void check(ncclResult_t status, const char* call);

/// Throws DeviceError for what went wrong in a communicator since it was last asked.
void check_state(ncclComm_t communicator);

/// What NCCL calls an element's type and a reduction; nothing where this version has none.
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
