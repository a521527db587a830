#pragma once

#include <functional>

#include "collective/nccl/nccl_worker.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix {

/// What a rank of one device answers with.
using MakeNcclAnswerer = std::function<ranks::Answerer(NcclRanks own)>;

/// Ranks that have a device each, and exchange nothing but what they answer rank 0.
ranks::DeviceSupport nccl_rank_support(MakeNcclAnswerer make);

}  // namespace linkmatrix
