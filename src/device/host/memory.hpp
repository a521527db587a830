#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
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

constexpr std::uint64_t page_bytes = 4096;

/// How the kernel laid out memory that was touched: what was asked of it (first touch, madvise) are only wishes.

/// Which share of the pages lies on a NUMA node, of some pages all over the memory; nothing where the kernel does not
/// say (no such call in it, or not allowed).
std::optional<double> share_on_node(std::span<const std::byte> memory, int node);

/// Bytes in huge pages, of all mappings that have a part of one of the memories. `smaps` as in /proc/self/smaps;
/// nothing where it has none of them.
std::optional<std::uint64_t> huge_bytes(std::istream& smaps, std::span<const std::span<const std::byte>> memories);

/// What the kernel is set to do: "always [madvise] never"; empty where it does not say.
std::string huge_page_setting();

}  // namespace linkmatrix
