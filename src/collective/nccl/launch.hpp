#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstddef>

#include "collective/layout.hpp"

namespace linkmatrix::nccl {

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
