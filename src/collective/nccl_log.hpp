#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "collective/layout.hpp"

namespace linkmatrix {

/// Makes NCCL write its debug log into memory of this process. Call it before other NCCL calls. Does nothing if the
/// user has set NCCL_DEBUG.
void log_nccl_to_memory();

/// Returns the last `most` bytes of the log; "" without a log.
std::string nccl_log(std::size_t most = std::size_t{1} << 26);

/// Returns the facts that NCCL logs when it creates communicators: numbers of rings and trees, transports, and settings
/// from the environment. By name, for the record.
std::map<std::string, std::string> facts_of_log(std::string_view log);

/// Returns algorithm, protocol and channels of the last collective in a log: "RING, SIMPLE, channels 0..23"; "":
/// unknown.
std::string last_choice(std::string_view log);

/// Returns whether a choice (last_choice()) has an algorithm in the spelling of NCCL_ALGO: "Ring".
bool is_algorithm(const std::string& choice, std::string_view algorithm);

/// Returns whether switches reduce data with this choice (NVLS, SHARP), so that links carry less than the bus
/// bandwidth.
bool reduces_in_network(const std::string& choice);

}  // namespace linkmatrix
