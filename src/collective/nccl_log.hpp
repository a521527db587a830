#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "collective/layout.hpp"

namespace linkmatrix {

/// Has NCCL write what it decides into memory of this process; before its first call. Does nothing where the user has
/// said what NCCL is to write (NCCL_DEBUG).
void keep_nccl_log();

/// The last `most` bytes of what it has written so far; empty where it does not.
std::string nccl_log(std::size_t most = std::size_t{1} << 26);

/// What NCCL said of itself when it made its communicators: how many rings and trees, by which transports, and what the
/// environment set. Texts by name, for the record.
std::map<std::string, std::string> facts_of_log(std::string_view log);

/// What the last collective of a log ran by: "RING, SIMPLE, channels 0..23"; empty where it does not say.
std::string last_choice(std::string_view log);

/// Whether a choice, as last_choice has it, names this algorithm, in the spelling of the environment: "Ring".
bool is_algorithm(const std::string& choice, std::string_view algorithm);

/// Whether what a choice names has the network's switches add up, so that links carry less than the bus bandwidth.
bool adds_in_network(const std::string& choice);

}  // namespace linkmatrix
