#include "device/host/cpu_quota.hpp"

#include <fstream>
#include <ranges>
#include <sstream>

#include "device/host/control_groups.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

/// A quota and its period; empty where there is none.
std::string quota_of(const ControlGroup& group) {
  std::string numbers = line_of(group.folder / "cpu.max");
  if (group.version == 1)
    numbers = line_of(group.folder / "cpu.cfs_quota_us") + ' ' + line_of(group.folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  std::istringstream words(numbers);
  const bool has_one = words >> quota >> period && quota > 0 && period > 0;  // "max", or -1: none
  return has_one ? (group.version == 1 ? "cpu.cfs_quota_us " : "cpu.max ") + numbers : "";
}

std::optional<double> throttled_seconds(const ControlGroup& group) {
  const std::string wanted = group.version == 1 ? "throttled_time" : "throttled_usec";
  std::ifstream lines(group.folder / "cpu.stat");
  std::string name;
  for (double number = 0; lines >> name >> number;)
    if (name == wanted) return number * (group.version == 1 ? 1e-9 : 1e-6);
  return std::nullopt;
}

}  // namespace

std::optional<CpuQuota> cpu_quota(const std::filesystem::path& root) {
  const auto groups = control_groups(root, "cpu");
  for (const ControlGroup& group : groups | std::views::reverse) {
    const std::string text = quota_of(group);
    const auto throttled = throttled_seconds(group);
    if (!text.empty() && throttled) return CpuQuota{text, *throttled};
  }
  return std::nullopt;
}

}  // namespace linkmatrix
