#pragma once

#include <algorithm>
#include <cstdint>

namespace linkmatrix {

/// Selects blocks of the elements of each rank's part: block `first` and every `every`-th after it. Plain data. every =
/// 1 selects all.
struct ElementBlocks {
  static constexpr std::uint64_t elements = 1024;

  std::uint64_t every = 1, first = 0;

  /// Calls work(begin, end) for each block of `count` elements in parts of `part` elements; 0: one part.
  template <class Work>
  void for_each(std::uint64_t count, std::uint64_t part, const Work& work) const {
    const std::uint64_t each = part == 0 ? count : part;
    for (std::uint64_t offset = 0; offset < count; offset += each)
      for (std::uint64_t at = first * elements; at < each; at += every * elements)
        work(offset + at, offset + std::min(at + elements, each));
  }
};

}  // namespace linkmatrix
