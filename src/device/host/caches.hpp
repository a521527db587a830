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

/// Buffer sizes in bytes that exceed the caches.
struct WorkingSet {
  /// Copies: max(128 MiB, 2 × all caches), so that source and destination have 4 × the size of all caches.
  std::uint64_t copy = 0;
  /// Chases by one core: max(256 MiB, 8 × the largest cache), rounded to a power of two. At most 1/8 of the loads hit.
  std::uint64_t chase = 0;
  /// Whether the sizes are reduced, because each buffer may take at most 1/64 of the available memory.
  bool is_memory_short = false;
};

/// Returns the sizes for these caches and `available` bytes of memory.
WorkingSet working_set(const LastLevelCaches& caches, std::uint64_t available);

/// Returns the sizes for this machine. Determined at the first call.
const WorkingSet& own_working_set();

}  // namespace linkmatrix
