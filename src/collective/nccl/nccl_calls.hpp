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

/// Throws DeviceError with NCCL's text, or NotAvailable if NCCL lacks the forced algorithm, unless the status is
/// success. call: name of the function.
void check(ncclResult_t status, const char* call);

/// Throws DeviceError if a communicator has reported an asynchronous error.
void check_state(ncclComm_t communicator);

/// Returns NCCL's constant for an element type; nothing if this version of NCCL lacks the type.
std::optional<ncclDataType_t> type_of(ElementType type);
/// Returns NCCL's constant for a reduction.
ncclRedOp_t operation_of(Reduction reduction);

/// A rank and its buffers.
struct RankBuffers {
  int number, all;        ///< number of the rank, and number of all ranks
  const std::byte* from;  ///< send buffer
  std::byte* to;          ///< receive buffer
};

/// Enqueues a rank's part of a collective in its stream, between ncclGroupStart and ncclGroupEnd. Throws DeviceError
/// and NotAvailable.
void begin(const CollectiveCase& wanted, const Layout& layout, const RankBuffers& rank, ncclComm_t comm,
           cudaStream_t stream);

}  // namespace linkmatrix::nccl
