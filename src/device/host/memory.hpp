#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/units.hpp"
#include "core/words.hpp"

namespace linkmatrix {

constexpr std::uint64_t huge_page_bytes = 2 * MiB;

/// Pages from the kernel, of 2 MiB where it has them and they are wanted; they lie on the NUMA node of the thread that
/// first touches them.
class HostMemory {
 public:
  HostMemory() = default;
  /// Throws BadInput where the machine has not that much memory available.
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
  void* mapped_ = nullptr;  ///< what the kernel gave: `data_` is its first boundary of a huge page
  std::uint64_t mapped_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// How host memory for copies is made.
struct HostMemoryKind {
  HostPages pages = HostPages::pinned;  ///< of the copies of GPUs; threads and ranks copy pageable memory only
  bool huge = true;                     ///< in pages of 2 MiB, as far as the kernel has them
};

/// Touches a part of new memory from the calling thread, and fills it with the pattern: not with zeros, which some
/// memory controllers and links carry for less.
void touch_here(HostMemory& memory, std::uint64_t at, std::uint64_t bytes);

/// Makes `memory` at least `bytes` large and touches it from the calling thread; does nothing if it is large enough.
void reserve_here(HostMemory& memory, std::uint64_t bytes, bool huge = true);

}  // namespace linkmatrix
