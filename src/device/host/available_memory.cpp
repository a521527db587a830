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

/// How a version of control groups calls its files.
struct GroupFiles {
  std::string_view mounted;                ///< below the root
  std::array<std::string_view, 2> limits;  ///< what may be used; beyond the second, the kernel slows everything down
  std::string_view used;
  std::string_view reclaimable;  ///< in memory.stat: file pages that nobody has used lately
};

constexpr GroupFiles version_1{"sys/fs/cgroup/memory",
                               {"memory.limit_in_bytes", "memory.limit_in_bytes"},
                               "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles version_2{"sys/fs/cgroup", {"memory.max", "memory.high"}, "memory.current", "inactive_file"};

std::uint64_t available_in(const fs::path& group, const GroupFiles& files) {
  std::uint64_t limit = no_limit;
  for (const std::string_view name : files.limits) limit = std::min(limit, number_in(group / name).value_or(no_limit));
  const auto used = number_in(group / files.used);
  if (limit == no_limit || !used) return limit;
  const std::uint64_t kept = *used - std::min(*used, number_of(group / "memory.stat", files.reclaimable).value_or(0));
  return limit - std::min(limit, kept);
}

/// Of a group and all those around it. In a container the path may be the host's, which is not to be seen there: what
/// is mounted is the container's own then.
std::uint64_t available_along(const fs::path& root, const std::string& path, const GroupFiles& files) {
  fs::path group = root / files.mounted;
  std::uint64_t least = available_in(group, files);
  for (const fs::path& name : fs::path(path).relative_path()) {
    group /= name;
    least = std::min(least, available_in(group, files));
  }
  return least;
}

/// The group files that a line of /proc/self/cgroup, "number:controllers:path", is about.
const GroupFiles* files_of(const std::vector<std::string>& fields) {
  if (fields.size() != 3) return nullptr;
  if (fields[0] == "0" && fields[1].empty()) return &version_2;
  const auto controllers = split(fields[1], ',');
  return std::find(controllers.begin(), controllers.end(), "memory") != controllers.end() ? &version_1 : nullptr;
}

std::vector<std::string> fields_of(const std::string& line) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  const auto kilobytes = number_of(root / "proc/meminfo", "MemAvailable:");
  std::uint64_t least = kilobytes ? *kilobytes * KiB : no_limit;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto fields = fields_of(line);
    if (const GroupFiles* files = files_of(fields)) least = std::min(least, available_along(root, fields[2], *files));
  }
  return least;
}

}  // namespace linkmatrix
