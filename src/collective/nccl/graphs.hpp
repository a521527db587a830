#pragma once

#include <functional>
#include <span>

#include "collective/nccl/local_rank.hpp"

namespace linkmatrix::nccl {

/// Makes each rank's graph of what `work` puts into the streams of all. Throws CudaError and what `work` throws; no
/// stream records any more then.
void record_graphs(std::span<LocalRank> ranks, const std::function<void()>& work);

/// Each rank's into its stream.
void launch_graphs(std::span<const LocalRank> ranks);

}  // namespace linkmatrix::nccl
