#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace linkmatrix {

/// A set of ranks of a communicator, by number. Plain data, in C++17 for device sources.
class RankSet {
 public:
  static constexpr int most = 1024;  ///< upper limit of the numbers

  void add(int rank) { words_[word_of(rank)] |= bit_of(rank); }
  bool has(int rank) const { return rank < most && (words_[word_of(rank)] & bit_of(rank)) != 0; }
  bool empty() const { return *this == RankSet{}; }
  int count() const { return below(most); }

  /// Returns the number of ranks of the set before a rank.
  int below(int rank) const {
    int count = 0;
    for (int first = 0; first < rank && first < most; first += bits) {
      const std::uint64_t word = words_[word_of(first)];
      count += static_cast<int>(std::bitset<bits>(rank - first >= bits ? word : word & (bit_of(rank) - 1)).count());
    }
    return count;
  }

  friend bool operator==(const RankSet& a, const RankSet& b) { return a.words_ == b.words_; }
  friend bool operator<(const RankSet& a, const RankSet& b) { return a.words_ < b.words_; }

 private:
  static constexpr int bits = 64;
  static constexpr std::size_t word_of(int rank) { return static_cast<std::size_t>(rank / bits); }
  static constexpr std::uint64_t bit_of(int rank) { return std::uint64_t{1} << (rank % bits); }

  std::array<std::uint64_t, most / bits> words_{};
};

}  // namespace linkmatrix
