#pragma once

#include <cstdint>
#include <filesystem>

namespace linkmatrix {

/// Last-level caches of this machine, in bytes; 0 where the kernel does not say.
struct LastLevelCaches {
  std::uint64_t largest = 0;  ///< of one instance
  std::uint64_t all = 0;      ///< of all instances together
};

/// As /sys/devices/system/cpu below `root` lists them.
LastLevelCaches last_level_caches(const std::filesystem::path& root = "/");

/// Sizes at which memory answers, and not a cache.
struct WorkingSet {
  /// Of a copy: its source and its destination are together 4 times all caches, since all cores of a node may copy; at
  /// least 128 MiB each.
  std::uint64_t copy = 0;
  /// Of a chase by one core: 8 times the largest cache, so that no more than an eighth of the loads finds its line
  /// there; a power of two, at least 256 MiB.
  std::uint64_t chase = 0;
  /// Whether the memory available is too small for that: a buffer takes a 64th of it at most.
  bool is_short = false;
};

WorkingSet working_set(const LastLevelCaches& caches, std::uint64_t available);

/// Of this machine, asked once.
const WorkingSet& own_working_set();

}  // namespace linkmatrix
