#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "collective/layout.hpp"

namespace linkmatrix {

/// Makes NCCL log its decisions into memory of this process. Call it before other NCCL calls. Does nothing if the user
/// has set NCCL_DEBUG.
void keep_nccl_log();

/// Returns the last `most` bytes of the log; "" without a log.
std::string nccl_log(std::size_t most = std::size_t{1} << 26);

/// Returns facts from the creation of communicators: numbers of rings and trees, transports, and settings from the
/// environment. Texts by name, for the record.
std::map<std::string, std::string> facts_of_log(std::string_view log);

/// Returns the choice of the last collective in a log: "RING, SIMPLE, channels 0..23"; "" if unknown.
std::string last_choice(std::string_view log);

/// Returns whether a choice of last_choice() has this algorithm, in the spelling of NCCL_ALGO: "Ring".
bool is_algorithm(const std::string& choice, std::string_view algorithm);

/// Returns whether network switches reduce data with this choice, so that links carry less than the bus bandwidth.
bool adds_in_network(const std::string& choice);

}  // namespace linkmatrix
