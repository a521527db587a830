#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define LINKMATRIX_HOST_DEVICE __host__ __device__
#else
#define LINKMATRIX_HOST_DEVICE
#endif

namespace linkmatrix {

/// Word `index` of the verification pattern: a bijection of the position for each seed, so that a page that lands in
/// the wrong place, at whatever offset, is seen (a periodic pattern would miss one that is off by a period).
/// The mixing is the finalizer of splitmix64 (Steele, Lea & Flood, 2014).
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xd1342543de82ef95ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Byte `offset` of the pattern, little-endian.
LINKMATRIX_HOST_DEVICE constexpr std::byte pattern_byte(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<std::byte>(pattern_word(seed, offset / 8) >> (8 * (offset % 8)));
}

/// Of what new memory is filled with before it is timed; any: what is verified has its own.
constexpr std::uint64_t first_seed = 1;

/// What a destination holds before a verified copy. Any byte: the pattern differs from it nearly everywhere.
constexpr int poison_byte = 0xA5;

/// The blocks of a buffer that are compared: every so many-th one, from the first on. With 1 it is the whole buffer.
struct Portion {
  static constexpr std::uint64_t block_bytes = 4096;

  std::uint64_t every = 1, first = 0;
};

/// Bytes that differ from the pattern.
struct PatternCheck {
  std::uint64_t wrong_bytes = 0;
  std::uint64_t first_wrong = 0;  ///< offset; meaningful only if wrong_bytes > 0
};

/// Writes bytes [offset, offset + bytes) of the pattern to memory[offset…].
void fill_pattern(std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed);

/// Compares bytes [offset, offset + bytes) of memory with those of the pattern that are `ahead` bytes further on.
PatternCheck check_pattern(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t ahead = 0);

/// The same of the portion's blocks alone, which are counted from memory[0] on.
PatternCheck check_portion(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t ahead, const Portion& portion);

}  // namespace linkmatrix
