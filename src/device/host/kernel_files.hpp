#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace linkmatrix {

/// Returns the first line of a file in /sys or /proc, without trailing blanks; "" if it is missing or not text.
std::string first_line(const std::filesystem::path& file);

/// Returns the number in the first line of a file; nothing if the line is not a number.
std::optional<double> number_of(const std::filesystem::path& file);

/// Returns the paths in a folder, sorted by name; empty if there is no such folder.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

/// Returns the names of the interfaces below an interface: one for a VLAN, several for a bridge or bond. interface:
/// folder in /sys/class/net.
std::vector<std::string> lower_interfaces(const std::filesystem::path& interface);

}  // namespace linkmatrix
