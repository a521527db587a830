#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/words.hpp"

namespace linkmatrix {

/// What may follow single options of p2p_matrix; all throw BadInput naming the option.

/// "NV18=450,HOST=55".
std::map<std::string, double> parse_limits(std::string_view text);

/// An engine that copies; collectives have others.
Engine parse_engine(std::string_view text);

/// Seconds of "90s", "30m" or "8h"; without a letter, seconds.
double parse_duration(std::string_view option, std::string_view text);

/// Threads of a block.
int parse_threads(std::string_view text);

}  // namespace linkmatrix
