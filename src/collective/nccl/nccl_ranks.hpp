#pragma once

#include <functional>

#include "collective/nccl/nccl_worker.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix {

/// Answers of a rank with one device.
using MakeNcclAnswerer = std::function<ranks::Answerer(NcclRanks own)>;

/// Ranks with one device each, which exchange only their answers to rank 0.
ranks::DeviceSupport nccl_rank_support(MakeNcclAnswerer make);

}  // namespace linkmatrix
