#include "device/host/control_groups.hpp"

#include <algorithm>
#include <fstream>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

/// Of a line of /proc/self/cgroup, "number:controllers:path".
std::vector<std::string> fields_of(const std::string& line) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

/// Which version of the controller the line is about; 0: it is about another one.
int version_of(const std::vector<std::string>& fields, const std::string& controller) {
  if (fields.size() != 3) return 0;
  if (fields[0] == "0" && fields[1].empty()) return 2;
  const auto controllers = split(fields[1], ',');
  return std::find(controllers.begin(), controllers.end(), controller) != controllers.end() ? 1 : 0;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::filesystem::path& root, const std::string& controller) {
  std::vector<ControlGroup> found;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto fields = fields_of(line);
    const int version = version_of(fields, controller);
    if (version == 0) continue;
    std::filesystem::path folder = root / "sys/fs/cgroup";
    if (version == 1) folder /= controller;
    found.push_back({folder, version});
    for (const auto& name : std::filesystem::path(fields[2]).relative_path())
      found.push_back({folder /= name, version});
  }
  return found;
}

}  // namespace linkmatrix
