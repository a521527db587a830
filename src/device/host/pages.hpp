#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>

namespace linkmatrix {

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
