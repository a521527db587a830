#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collective/collective_words.hpp"

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

/// One requested collective: plain data, sent as bytes between the ranks of one build.
struct CollectiveCase {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  std::uint64_t bytes = 0;  ///< requested size; see Layout::size_bytes
  int root = 0;
  int source = 0, destination = 1;  ///< ranks of a send
  RankSet left_out{};               ///< excluded ranks
  bool in_place = false;
  Launch launch = Launch::queued;    ///< launch of GPU collectives
  std::array<char, 16> algorithm{};  ///< NCCL algorithm, "Ring"; empty: chosen by NCCL
  int windows = 0;                   ///< additional receive buffers: one per compared sample of a burst
};

std::size_t bytes_of(ElementType type);

/// Numbers of elements and factors of a case, defined as in nccl-tests (doc/PERFORMANCE.md, GetCollByteCount): the size
/// is that of the larger buffer, and parts begin at multiples of 16 bytes.
struct Layout {
  std::uint64_t sent = 0, received = 0;  ///< elements of a rank's buffers; of the root's if it has more
  std::uint64_t part = 0;                ///< elements of one rank's part, for buffers made of parts
  std::uint64_t size_bytes = 0;          ///< bytes of the algorithm bandwidth
  double bus_factor = 1;                 ///< busbw = algbw × this factor: load of the busiest link

  std::uint64_t elements() const { return sent > received ? sent : received; }
};

/// Returns the number of participating ranks, and the number of a rank among them. Not for sends.
inline int members(const CollectiveCase& wanted, int ranks) { return ranks - wanted.left_out.below(ranks); }
inline int member_number(const CollectiveCase& wanted, int rank) { return rank - wanted.left_out.below(rank); }

/// Smallest size with a part for every rank, for any collective.
std::uint64_t least_bytes(int ranks);

/// Returns the layout. ranks: number including excluded ranks. Throws BadInput if a rank has no element.
Layout layout_of(const CollectiveCase& wanted, int ranks);

}  // namespace linkmatrix
