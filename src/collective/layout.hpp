#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "collective/collective_words.hpp"
#include "collective/rank_set.hpp"

namespace linkmatrix {

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
