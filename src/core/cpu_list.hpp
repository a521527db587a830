#pragma once

#include <string>
#include <vector>

namespace linkmatrix {

/// The numbers of "0-3,8,10-11"; throws std::invalid_argument for anything else.
std::vector<int> parse_cpu_list(const std::string& text);

/// Likewise; none for anything else.
std::vector<int> cores_in(const std::string& text);

/// "0-3,8".
std::string cpu_list_text(const std::vector<int>& cores);

/// Whether two lists in ascending order have a core in common.
bool share_a_core(const std::vector<int>& some, const std::vector<int>& others);

}  // namespace linkmatrix
