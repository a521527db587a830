#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define LINKMATRIX_HOST_DEVICE __host__ __device__
#else
#define LINKMATRIX_HOST_DEVICE
#endif

namespace linkmatrix {

/// Returns the 8-byte word `index` of the verification pattern. For each seed, different positions have different
/// words, so misplaced data is detected at every offset. The mixing function is the finalizer of splitmix64 (Steele,
/// Lea & Flood, 2014).
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xd1342543de82ef95ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Returns byte `offset` of the pattern, little-endian.
LINKMATRIX_HOST_DEVICE constexpr std::byte pattern_byte(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<std::byte>(pattern_word(seed, offset / 8) >> (8 * (offset % 8)));
}

/// Seed of the pattern in new memory. Verified copies use other seeds.
constexpr std::uint64_t first_seed = 1;

/// Byte that overwrites (poisons) a destination before a verified copy. The value is arbitrary.
constexpr int poison_byte = 0xA5;

/// Selects compared blocks of a buffer: first, first + every, first + 2 × every, … every = 1 and first = 0: all blocks.
struct Portion {
  static constexpr std::uint64_t block_bytes = 4096;

  std::uint64_t every = 1, first = 0;
};

/// Result of a comparison with the pattern.
struct PatternCheck {
  std::uint64_t wrong_bytes = 0;
  std::uint64_t first_wrong = 0;  ///< offset of the first wrong byte; valid only if wrong_bytes > 0
};

/// Writes bytes [offset, offset + bytes) of the pattern to memory[offset…].
void fill_pattern(std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed);

/// Compares memory[i] with byte i + ahead of the pattern, for i in [offset, offset + bytes).
PatternCheck check_pattern(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t ahead = 0);

/// As check_pattern(), but only for the blocks of `portion`. Block 0 begins at memory[0].
PatternCheck check_portion(const std::byte* memory, std::uint64_t offset, std::uint64_t bytes, std::uint64_t seed,
                           std::uint64_t ahead, const Portion& portion);

}  // namespace linkmatrix
