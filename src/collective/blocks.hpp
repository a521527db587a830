#pragma once

#include <algorithm>
#include <cstdint>

namespace linkmatrix {

/// Selects compared blocks of 1,024 elements in each rank's part: first, first + every, first + 2 × every, …
/// Trivially copyable.
struct ElementBlocks {
  static constexpr std::uint64_t elements = 1024;

  std::uint64_t every = 1, first = 0;

  /// Calls work(begin, end) for each selected block of a buffer. count: elements of the buffer. part: elements per
  /// part; 0: the buffer is one part.
  template <class Work>
  void for_each(std::uint64_t count, std::uint64_t part, const Work& work) const {
    const std::uint64_t each = part == 0 ? count : part;
    for (std::uint64_t offset = 0; offset < count; offset += each)
      for (std::uint64_t at = first * elements; at < each; at += every * elements)
        work(offset + at, offset + std::min(at + elements, each));
  }
};

}  // namespace linkmatrix
