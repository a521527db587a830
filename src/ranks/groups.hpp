#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace linkmatrix::ranks {

/// {node: its group}, such as its leaf switch, of a text with lines such as "leaf1: n[1-32],n40", or of Slurm's
/// topology.conf or `scontrol show topology`, whose switches with nodes and without further switches count. Throws
/// BadInput naming the line.
std::map<std::string, std::string> parse_groups(std::string_view text);

/// The same of a file. Throws BadInput naming it.
std::map<std::string, std::string> read_groups(const std::filesystem::path& file);

/// "n1", "n2" and "m07" of "n[1-2],m[07]", as Slurm writes lists of hosts. Throws BadInput.
std::vector<std::string> expanded_hosts(std::string_view list);

/// The group of each node. Throws BadInput for one that has none, and where all have the same.
std::vector<std::string> groups_of(const std::vector<std::string>& nodes,
                                   const std::map<std::string, std::string>& groups);

}  // namespace linkmatrix::ranks
