#pragma once

#include <nccl.h>

#include <array>
#include <optional>
#include <utility>

#include "collective/collective_words.hpp"

namespace linkmatrix::nccl {

/// Throws DeviceError with what NCCL says for anything but success, and NotAvailable where it has not what was forced.
void check(ncclResult_t status, const char* call);

/// Throws DeviceError for what went wrong in a communicator since it was last asked.
void check_state(ncclComm_t communicator);

/// What NCCL calls an element's type and a reduction; nothing where this version has none.
std::optional<ncclDataType_t> type_of(ElementType type);
ncclRedOp_t operation_of(Reduction reduction);

}  // namespace linkmatrix::nccl
