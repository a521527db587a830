#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "collective/collective_words.hpp"
#include "collective/rank_set.hpp"

namespace linkmatrix {

/// One collective as it is asked for: plain data, sent as bytes between the ranks of one build.
struct CollectiveCase {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::f32;
  Reduction reduction = Reduction::sum;
  std::uint64_t bytes = 0;  ///< asked for; see Layout::size_bytes
  int root = 0;
  int source = 0, destination = 1;  ///< of a send
  RankSet left_out{};               ///< ranks that do not take part
  bool in_place = false;
  Launch launch = Launch::queued;    ///< of GPUs
  std::array<char, 16> algorithm{};  ///< of NCCL, "Ring"; empty: its own choice
  int windows = 0;  ///< receive buffers beside the first: one for each sample of a burst that is compared
};

std::size_t bytes_of(ElementType type);

/// How many elements each rank of a case has, and what they count for. Counts, sizes and factors are those of
/// nccl-tests (doc/PERFORMANCE.md, GetCollByteCount): the size is that of the larger buffer, parts begin at multiples
/// of 16 bytes.
struct Layout {
  std::uint64_t sent = 0, received = 0;  ///< elements of a rank's buffers; of a root where it has more
  std::uint64_t part = 0;                ///< elements of one rank's part, where buffers consist of them
  std::uint64_t size_bytes = 0;          ///< that the algorithm bandwidth counts
  double bus_factor = 1;                 ///< busbw = algbw × this: what the busiest link carries

  std::uint64_t elements() const { return sent > received ? sent : received; }
};

/// How many of all ranks take part in what is no send, and the number of one among them.
inline int members(const CollectiveCase& wanted, int ranks) { return ranks - wanted.left_out.below(ranks); }
inline int member_number(const CollectiveCase& wanted, int rank) { return rank - wanted.left_out.below(rank); }

/// The size from which on every rank has a part, whatever is done.
std::uint64_t least_bytes(int ranks);

/// `ranks`: with those that are left out. Throws BadInput where the size leaves some rank without an element.
Layout layout_of(const CollectiveCase& wanted, int ranks);

}  // namespace linkmatrix
