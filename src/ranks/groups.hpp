#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace linkmatrix::ranks {

/// Parses the group of each node, such as its leaf switch. Returns {node: group}. Formats: lines such as "leaf1:
/// n[1-32],n40", Slurm's topology.conf, or `scontrol show topology` (the lowest switches). Throws BadInput naming the
/// line.
std::map<std::string, std::string> parse_groups(std::string_view text);

/// Parses a file. Throws BadInput naming the file.
std::map<std::string, std::string> read_groups(const std::filesystem::path& file);

/// Expands a host list in Slurm's format: "n[1-2],m[07]" gives "n1", "n2" and "m07". Throws BadInput.
std::vector<std::string> expanded_hosts(std::string_view list);

/// Returns the group of each node. groups: {node: group}. Throws BadInput if a node has no group, or if all nodes have
/// the same group.
std::vector<std::string> groups_of(const std::vector<std::string>& nodes,
                                   const std::map<std::string, std::string>& groups);

}  // namespace linkmatrix::ranks
