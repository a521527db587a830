#pragma once

#include <cstdint>
#include <filesystem>

namespace linkmatrix {

/// Sizes of the last-level caches in bytes; 0: unknown.
struct LastLevelCaches {
  std::uint64_t largest = 0;  ///< size of the largest cache
  std::uint64_t all = 0;      ///< total size of all caches
};

/// Reads the sizes from /sys/devices/system/cpu below `root`.
LastLevelCaches last_level_caches(const std::filesystem::path& root = "/");

/// Buffer sizes that exceed the caches.
struct WorkingSet {
  /// Copies: source and destination together have 4 times the size of all caches, because all cores of a node may copy;
  /// at least 128 MiB each.
  std::uint64_t copy = 0;
  /// Chases by one core: 8 times the largest cache, so that at most an eighth of the loads hit it; a power of two, at
  /// least 256 MiB.
  std::uint64_t chase = 0;
  /// Whether the available memory is too small for these sizes; a buffer takes at most a 64th of it.
  bool is_short = false;
};

WorkingSet working_set(const LastLevelCaches& caches, std::uint64_t available);

/// Returns the sizes for this machine, determined once.
const WorkingSet& own_working_set();

}  // namespace linkmatrix
