#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/pattern.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

std::vector<std::byte> filled(std::uint64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> memory(bytes, static_cast<std::byte>(poison_byte));
  fill_pattern(memory.data(), 0, bytes, seed);
  return memory;
}

TEST(Pattern, IsFoundRightWhereNothingChanged) {
  for (const std::uint64_t bytes : {1u, 7u, 8u, 9u, 4096u, 4099u}) {
    const auto memory = filled(bytes, 5);
    EXPECT_EQ(check_pattern(memory.data(), 0, bytes, 5).wrong_bytes, 0u) << bytes;
  }
}

TEST(Pattern, FindsASingleWrongByteAnywhereTailIncluded) {
  for (const std::uint64_t at : {0u, 1u, 4095u, 4096u, 4098u}) {
    auto memory = filled(4099, 5);
    memory[at] ^= std::byte{1};
    const PatternCheck found = check_pattern(memory.data(), 0, memory.size(), 5);
    EXPECT_EQ(found.wrong_bytes, 1u);
    EXPECT_EQ(found.first_wrong, at);
  }
}

TEST(Pattern, SeesAPageThatLandedElsewhere) {
  auto memory = filled(6 * MiB, 5);
  std::swap_ranges(memory.begin(), memory.begin() + 4096, memory.begin() + 2 * MiB);  // off by a 2 MiB period
  EXPECT_GT(check_pattern(memory.data(), 0, memory.size(), 5).wrong_bytes, 8000u);
}

TEST(Pattern, TellsThePairsApart) {
  const auto memory = filled(4096, 5);
  EXPECT_GT(check_pattern(memory.data(), 0, 4096, 6).wrong_bytes, 4000u);
}

TEST(Pattern, IsTheSamePieceByPiece) {
  auto memory = filled(1000, 9);
  std::vector<std::byte> pieces(1000);
  for (std::uint64_t at = 0; at < 1000; at += 37)
    fill_pattern(pieces.data(), at, std::min<std::uint64_t>(37, 1000 - at), 9);
  EXPECT_EQ(memory, pieces);
  EXPECT_EQ(check_pattern(memory.data(), 13, 501, 9).wrong_bytes, 0u);
}

TEST(Pattern, IsNotWhatASpoiledDestinationHolds) {
  std::vector<std::byte> untouched(1 << 16, static_cast<std::byte>(poison_byte));
  EXPECT_GT(check_pattern(untouched.data(), 0, untouched.size(), 1).wrong_bytes, untouched.size() * 99 / 100);
}

TEST(Pattern, IsNotMemoryThatNobodyWrote) {
  const std::vector<std::byte> zeros(1 << 16);
  EXPECT_GT(check_pattern(zeros.data(), 0, zeros.size(), 1).wrong_bytes, zeros.size() * 99 / 100);
}

TEST(Pattern, RepeatsNoWordInAMillion) {
  std::set<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 1000000; ++i) words.insert(pattern_word(3, i));
  EXPECT_EQ(words.size(), 1000000u);
}

TEST(Pattern, IsComparedFurtherOnAndInBlocks) {
  constexpr std::uint64_t bytes = 10 * Portion::block_bytes + 5, ahead = 40;
  std::vector<std::byte> memory(bytes);
  std::vector<std::byte> whole(bytes + ahead);
  fill_pattern(whole.data(), 0, whole.size(), 5);
  std::copy(whole.begin() + ahead, whole.end(), memory.begin());
  EXPECT_EQ(check_pattern(memory.data(), 0, bytes, 5, ahead).wrong_bytes, 0u);
  EXPECT_GT(check_pattern(memory.data(), 0, bytes, 5).wrong_bytes, bytes * 9 / 10);
  memory[4 * Portion::block_bytes + 17] ^= std::byte{1};
  std::uint64_t found = 0;
  for (std::uint64_t first = 0; first < 3; ++first) {
    const PatternCheck check = check_portion(memory.data(), 0, bytes, 5, ahead, {3, first});
    found += check.wrong_bytes;
    if (check.wrong_bytes > 0) {
      EXPECT_EQ(first, 1u);
      EXPECT_EQ(check.first_wrong, 4 * Portion::block_bytes + 17);
    }
  }
  EXPECT_EQ(found, 1u) << "of all portions together";
}

}  // namespace
}  // namespace linkmatrix
