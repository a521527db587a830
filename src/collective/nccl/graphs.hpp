#pragma once

#include <functional>
#include <span>

#include "collective/nccl/local_rank.hpp"

namespace linkmatrix::nccl {

/// Adds to each rank's graphs one of what `work` puts into the streams of all. Throws CudaError and what `work` throws;
/// no stream records any more then.
void record_graphs(std::span<LocalRank> ranks, const std::function<void()>& work);

/// Each rank's graph of that number into its stream.
void launch_graphs(std::span<const LocalRank> ranks, std::size_t number);

}  // namespace linkmatrix::nccl
