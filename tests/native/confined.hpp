#pragma once

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace linkmatrix {

/// Returns a path inside the existing folder `root`, with links resolved. Throws std::runtime_error for a path outside,
/// because mutated descriptions of trees may run as root.
inline std::filesystem::path confined(const std::filesystem::path& root, const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const fs::path base = fs::canonical(root), found = fs::weakly_canonical(path);
  const bool is_inside = std::mismatch(base.begin(), base.end(), found.begin(), found.end()).first == base.end();
  const bool leads_nowhere = fs::is_symlink(fs::symlink_status(path)) && !fs::exists(path);  // or out, once it is there
  if (!is_inside || leads_nowhere || path.native().find('\0') != std::string::npos)
    throw std::runtime_error("'" + path.string() + "' is not in the folder of the test");
  return path;
}

}  // namespace linkmatrix
