#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace linkmatrix {

/// The first line of a file below /sys or /proc, without blanks at its end; empty where there is none, or it is no
/// text.
std::string line_of(const std::filesystem::path& file);

/// Its first line, where that is a number and nothing else.
std::optional<double> number_of(const std::filesystem::path& file);

/// Entries of a folder in the order of their names; none where there is no folder.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

/// The interfaces on which one lies, by its folder in /sys/class/net: a VLAN on one, a bridge or a bond on several.
std::vector<std::string> lower_interfaces(const std::filesystem::path& interface);

}  // namespace linkmatrix
