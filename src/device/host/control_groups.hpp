#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace linkmatrix {

/// A group of processes that the kernel limits together.
struct ControlGroup {
  std::filesystem::path folder;  ///< of its files
  int version;                   ///< 1 or 2, which call them otherwise
};

/// Those around this process that a controller ("memory") may limit, below `root`, the outermost first. In a container
/// the path may be the host's, which is not to be seen there: what is mounted is the container's own then.
std::vector<ControlGroup> control_groups(const std::filesystem::path& root, const std::string& controller);

}  // namespace linkmatrix
