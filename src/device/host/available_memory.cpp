#include "device/host/available_memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// The number that a file begins with; nothing where there is none ("max", no such file).
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::uint64_t number = 0;
  if (std::ifstream in(file); in >> number) return number;
  return std::nullopt;
}

/// The number behind a name in a file of names and numbers.
std::optional<std::uint64_t> number_of(const fs::path& file, std::string_view wanted) {
  std::ifstream in(file);
  std::string name, rest;
  for (std::uint64_t number = 0; in >> name >> number; std::getline(in, rest))
    if (name == wanted) return number;
  return std::nullopt;
}

/// File names of a version of control groups.
struct GroupFiles {
  std::array<std::string_view, 2> limits;  ///< limits; the kernel slows processes down beyond the second
  std::string_view used;
  std::string_view reclaimable;  ///< in memory.stat: file pages that were not used recently
};

constexpr GroupFiles version_1{
    {"memory.limit_in_bytes", "memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles version_2{{"memory.max", "memory.high"}, "memory.current", "inactive_file"};

std::uint64_t available_in(const fs::path& group, const GroupFiles& files) {
  std::uint64_t limit = no_limit;
  for (const std::string_view name : files.limits) limit = std::min(limit, number_in(group / name).value_or(no_limit));
  const auto used = number_in(group / files.used);
  if (limit == no_limit || !used) return limit;
  const std::uint64_t kept = *used - std::min(*used, number_of(group / "memory.stat", files.reclaimable).value_or(0));
  return limit - std::min(limit, kept);
}

struct ControlGroup {
  fs::path folder;  ///< of its files
  int version;      ///< 1 or 2, with different names of files
};

/// Parses a line of /proc/self/cgroup, "number:controllers:path".
std::vector<std::string> fields_of(const std::string& line) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

/// The version of the memory controller that a line is about; 0: another controller.
int version_of(const std::vector<std::string>& fields) {
  if (fields.size() != 3) return 0;
  if (fields[0] == "0" && fields[1].empty()) return 2;
  const auto controllers = split(fields[1], ',');
  return std::find(controllers.begin(), controllers.end(), "memory") != controllers.end() ? 1 : 0;
}

/// The control groups of this process, the outermost first. In a container the path may be the host's, which is not
/// visible there. The mounted folder is the container's own then.
std::vector<ControlGroup> control_groups(const fs::path& root) {
  std::vector<ControlGroup> found;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto fields = fields_of(line);
    const int version = version_of(fields);
    if (version == 0) continue;
    fs::path folder = root / "sys/fs/cgroup";
    if (version == 1) folder /= "memory";
    found.push_back({folder, version});
    for (const auto& name : fs::path(fields[2]).relative_path()) found.push_back({folder /= name, version});
  }
  return found;
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  const auto kilobytes = number_of(root / "proc/meminfo", "MemAvailable:");
  std::uint64_t least = kilobytes ? *kilobytes * KiB : no_limit;
  for (const auto& [folder, version] : control_groups(root))
    least = std::min(least, available_in(folder, version == 1 ? version_1 : version_2));
  return least;
}

}  // namespace linkmatrix
