#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace linkmatrix {

/// How much of the processors this process may use together with others of its control group.
struct CpuQuota {
  std::string text;      ///< as the kernel has it: "cpu.max 50000 100000", both in microseconds
  double throttled = 0;  ///< seconds that the kernel kept the group from processors for it, of each for itself
};

/// Of the nearest group around this process that has one; nothing where none has.
std::optional<CpuQuota> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
