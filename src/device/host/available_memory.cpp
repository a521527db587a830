#include "device/host/available_memory.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/units.hpp"
#include "device/host/control_groups.hpp"

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
  std::array<std::string_view, 2> limits;  ///< what may be used; beyond the second, the kernel slows everything down
  std::string_view used;
  std::string_view reclaimable;  ///< in memory.stat: file pages that nobody has used lately
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

}  // namespace

std::uint64_t available_memory(const fs::path& root) {
  const auto kilobytes = number_of(root / "proc/meminfo", "MemAvailable:");
  std::uint64_t least = kilobytes ? *kilobytes * KiB : no_limit;
  for (const auto& [folder, version] : control_groups(root, "memory"))
    least = std::min(least, available_in(folder, version == 1 ? version_1 : version_2));
  return least;
}

}  // namespace linkmatrix
