#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace linkmatrix {

/// What may follow options that several programs have; all throw BadInput naming the option.

/// "0,2,5".
std::vector<int> parse_devices(std::string_view text);

/// A size; 0 too, which a latency between ranks is asked of: whoever cannot have empty messages says so.
std::uint64_t parse_message(std::string_view option, std::string_view text);

/// The sizes of "MIN:MAX[:FACTOR]".
std::vector<std::uint64_t> parse_sweep(std::string_view text);

/// The sizes of "COUNT:MIN:MAX".
std::vector<std::uint64_t> parse_random(std::string_view text, int seed);

/// "on" or "off".
bool parse_switch(std::string_view option, std::string_view text);

}  // namespace linkmatrix
