#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collective/collective_words.hpp"

namespace linkmatrix {

/// A set of ranks of a communicator. Trivially copyable, in C++17 for device sources.
class RankSet {
 public:
  static constexpr int most = 1024;  ///< upper limit of the numbers

  void add(int rank) { words_[word_of(rank)] |= bit_of(rank); }
  bool has(int rank) const { return rank < most && (words_[word_of(rank)] & bit_of(rank)) != 0; }
  bool empty() const { return *this == RankSet{}; }
  int count() const { return below(most); }

  /// Returns the number of ranks in the set that are smaller than `rank`.
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

/// One requested collective. Trivially copyable: ranks of one build send it as bytes.
struct CollectiveCase {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  std::uint64_t bytes = 0;  ///< requested size; see Layout::size_bytes
  int root = 0;
  int source = 0, destination = 1;  ///< ranks of a send
  RankSet excluded{};               ///< excluded ranks
  bool in_place = false;
  Launch launch = Launch::queued;    ///< launch of GPU collectives
  std::array<char, 16> algorithm{};  ///< NCCL algorithm, "Ring"; empty: chosen by NCCL
  int windows = 0;                   ///< number of additional receive buffers (windows) for compared samples
};

/// Returns the size of an element in bytes.
std::size_t bytes_of(ElementType type);

/// Numbers of elements and bandwidth factors of a case, as in nccl-tests (doc/PERFORMANCE.md, GetCollByteCount). The
/// requested size is that of the larger buffer. Parts begin at multiples of 16 bytes.
struct Layout {
  std::uint64_t sent = 0, received = 0;  ///< elements of the send and receive buffers; of the root's if larger
  std::uint64_t part = 0;                ///< elements per rank in a buffer that consists of parts
  std::uint64_t size_bytes = 0;          ///< algorithm bandwidth = size_bytes / time
  double bus_factor = 1;                 ///< bus bandwidth = algorithm bandwidth × bus_factor

  std::uint64_t elements() const { return sent > received ? sent : received; }
};

/// Returns the number of participating ranks. ranks: includes excluded ranks. Not for Collective::send.
inline int members(const CollectiveCase& wanted, int ranks) { return ranks - wanted.excluded.below(ranks); }
/// Returns the number of a rank among the participating ranks. Not for Collective::send.
inline int member_number(const CollectiveCase& wanted, int rank) { return rank - wanted.excluded.below(rank); }

/// Returns the smallest size in bytes with a part for every rank, for any collective.
std::uint64_t least_bytes(int ranks);

/// Returns the layout of a case. ranks: includes excluded ranks. Throws BadInput if a rank would have no element.
Layout layout_of(const CollectiveCase& wanted, int ranks);

}  // namespace linkmatrix
