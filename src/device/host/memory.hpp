#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/units.hpp"
#include "core/words.hpp"

namespace linkmatrix {

constexpr std::uint64_t huge_page_bytes = 2 * MiB;

/// Memory mapped from the kernel, in pages of 2 MiB if requested and available. The kernel places each page on the NUMA
/// node of the thread that touches it first.
class HostMemory {
 public:
  HostMemory() = default;
  /// Throws BadInput if less memory is available.
  explicit HostMemory(std::uint64_t bytes, bool huge = true);
  HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(mapped_, other.mapped_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostMemory();

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void* mapped_ = nullptr;  ///< mapping of the kernel; `data_` is its first huge-page boundary
  std::uint64_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Type of host memory for copies.
struct HostMemoryKind {
  HostPages pages = HostPages::pinned;  ///< for copies of GPUs; threads and ranks always use pageable memory
  bool huge = true;                     ///< whether to use pages of 2 MiB, if available
};

/// Fills bytes [at, at + bytes) of new memory with the pattern from this thread, because some links transfer zeros
/// faster.
void touch_here(HostMemory& memory, std::uint64_t at, std::uint64_t bytes);

/// Replaces `memory` by new memory of at least `bytes` bytes, touched by this thread, unless it is large enough.
void reserve_here(HostMemory& memory, std::uint64_t bytes, bool huge = true);

constexpr std::uint64_t page_bytes = 4096;

// The next two functions return the actual placement of memory, because first touch and madvise are only hints.

/// Returns the fraction of sampled pages on a NUMA node; nothing if the kernel does not report it.
std::optional<double> share_on_node(std::span<const std::byte> memory, int node);

/// Returns the bytes in huge pages of the mappings that contain the memories; nothing if no mapping does. smaps:
/// content of /proc/self/smaps.
std::optional<std::uint64_t> huge_bytes(std::istream& smaps, std::span<const std::span<const std::byte>> memories);

/// Returns the kernel's setting, "always [madvise] never"; "" if unknown.
std::string huge_page_setting();

/// Returns the bytes that this process can allocate without swapping: the minimum over MemAvailable and the readable
/// limits of its control groups (v1 or v2). root: folder of /proc and /sys.
std::uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace linkmatrix
