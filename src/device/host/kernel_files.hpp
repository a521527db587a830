#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace linkmatrix {

/// The first line of a file below /sys or /proc, without blanks at its end; empty where there is none, or it is no
/// text.
std::string line_of(const std::filesystem::path& file);

/// Entries of a folder in the order of their names; none where there is no folder.
std::vector<std::filesystem::path> entries(const std::filesystem::path& folder);

}  // namespace linkmatrix
