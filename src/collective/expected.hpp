#pragma once

#include <cstdint>
#include <type_traits>

#include "collective/layout.hpp"
#include "core/pattern.hpp"

namespace linkmatrix {

/// What every rank sends, and what must arrive: whole numbers that the type holds exactly, in any order of the
/// additions, so that a single wrong element is seen; calculated from the position alone, on the device or the host
/// that checks, and not by what is tested.
struct Expectation {
  Collective collective;
  Reduction reduction;
  int ranks, root, source;
  std::uint64_t part;
  std::uint64_t limit;    ///< up to it the type holds every whole number
  std::uint64_t factors;  ///< a product has so many factors of 2 at most
};

/// Of a type, the largest number up to which it holds every whole number (its mantissa's bits, or its range).
constexpr std::uint64_t exact_limit(ElementType type) {
  switch (type) {
    case ElementType::f8e5m2:
      return 8;
    case ElementType::f8e4m3:
      return 16;
    case ElementType::i8:
      return 127;
    case ElementType::u8:
      return 255;
    case ElementType::bf16:
      return 256;
    case ElementType::f16:
      return 2048;
    default:
      return 1 << 24;
  }
}

constexpr Expectation expectation_of(const CollectiveCase& wanted, const Layout& layout, int ranks) {
  Expectation out{.collective = wanted.collective,
                  .reduction = wanted.reduction,
                  .ranks = ranks,
                  .root = wanted.root,
                  .source = wanted.source,
                  .part = layout.part,
                  .limit = exact_limit(wanted.type),
                  .factors = 0};
  // Not more than there are ranks: where all bring a 2, one that counts twice in another's place is not seen.
  while (out.factors < static_cast<std::uint64_t>(ranks) && (std::uint64_t{2} << out.factors) <= out.limit)
    ++out.factors;
  return out;
}

/// Element `index` of what a rank sends.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t sent_element(const Expectation& e, int rank, std::uint64_t index) {
  const std::uint64_t mixed = pattern_word(static_cast<std::uint64_t>(rank) + 1, index);
  const bool reduces = e.collective == Collective::all_reduce || e.collective == Collective::reduce_scatter ||
                       e.collective == Collective::reduce;
  if (!reduces || e.reduction == Reduction::min || e.reduction == Reduction::max) return mixed % (e.limit + 1);
  const std::uint64_t turn = (static_cast<std::uint64_t>(rank) + index) % static_cast<std::uint64_t>(e.ranks);
  if (e.reduction == Reduction::prod) {
    // Some of the ranks, others for each element, bring a 2.
    return turn < pattern_word(0, index) % (e.factors + 1) ? 2 : 1;
  }
  const std::uint64_t each = e.limit / static_cast<std::uint64_t>(e.ranks);
  if (each > 0) return mixed % (each + 1);
  return turn < e.limit ? mixed % 2 : 0;  // more ranks than the type can count: others for each element
}

/// Of all ranks' elements at `index`, reduced.
LINKMATRIX_HOST_DEVICE constexpr double reduced_element(const Expectation& e, std::uint64_t index) {
  std::uint64_t value = sent_element(e, 0, index);
  for (int rank = 1; rank < e.ranks; ++rank) {
    const std::uint64_t next = sent_element(e, rank, index);
    switch (e.reduction) {
      case Reduction::prod:
        value *= next;
        break;
      case Reduction::min:
        value = next < value ? next : value;
        break;
      case Reduction::max:
        value = next > value ? next : value;
        break;
      default:
        value += next;
    }
  }
  return e.reduction == Reduction::avg ? static_cast<double>(value) / e.ranks : static_cast<double>(value);
}

/// Element `index` of what a rank must have received. A rank that receives nothing is not to be asked.
LINKMATRIX_HOST_DEVICE constexpr double expected_element(const Expectation& e, int rank, std::uint64_t index) {
  const auto moved = [&](int from, std::uint64_t at) { return static_cast<double>(sent_element(e, from, at)); };
  switch (e.collective) {
    case Collective::all_reduce:
    case Collective::reduce:
      return reduced_element(e, index);
    case Collective::reduce_scatter:
      return reduced_element(e, static_cast<std::uint64_t>(rank) * e.part + index);
    case Collective::all_gather:
    case Collective::gather:
      return moved(static_cast<int>(index / e.part), index % e.part);
    case Collective::broadcast:
      return moved(e.root, index);
    case Collective::scatter:
      return moved(e.root, static_cast<std::uint64_t>(rank) * e.part + index);
    case Collective::alltoall:
      return moved(static_cast<int>(index / e.part), static_cast<std::uint64_t>(rank) * e.part + index % e.part);
    case Collective::sendrecv:
      return moved((rank + e.ranks - 1) % e.ranks, index);
    case Collective::send:
      return moved(e.source, index);
  }
  return 0;
}

/// What a rank has received after a collective, in elements; nothing where only another one does.
inline std::uint64_t received_elements(const CollectiveCase& wanted, const Layout& layout, int rank) {
  const bool only_root = wanted.collective == Collective::reduce || wanted.collective == Collective::gather;
  const bool only_destination = wanted.collective == Collective::send;
  const bool is_left_out = wanted.left_out.has(rank) || (only_root && rank != wanted.root) ||
                           (only_destination && rank != wanted.destination);
  return is_left_out ? 0 : layout.received;
}

/// What a rank sends, in elements; nothing where only another one does.
inline std::uint64_t sent_elements(const CollectiveCase& wanted, const Layout& layout, int rank) {
  const bool only_root = wanted.collective == Collective::broadcast || wanted.collective == Collective::scatter;
  const bool is_left_out = wanted.left_out.has(rank) || (only_root && rank != wanted.root) ||
                           (wanted.collective == Collective::send && rank != wanted.source);
  return is_left_out ? 0 : layout.sent;
}

/// Whether a rank takes part.
inline bool takes_part(const CollectiveCase& wanted, int rank) {
  if (wanted.collective == Collective::send) return rank == wanted.source || rank == wanted.destination;
  return !wanted.left_out.has(rank);
}

/// Where in the buffer that it receives into a rank's own part lies that it sends in place, in elements; and of a
/// collective that scatters, where in the buffer that it sends from what it receives.
constexpr std::uint64_t place_of_part(const Layout& layout, int rank) {
  return static_cast<std::uint64_t>(rank) * layout.part;
}

/// Whether a type has whole numbers only: of those an average is one too, rounded down.
constexpr bool is_whole(ElementType type) {
  return type == ElementType::i8 || type == ElementType::u8 || type == ElementType::i32 || type == ElementType::u32 ||
         type == ElementType::i64 || type == ElementType::u64;
}

/// How far a value may be from what is expected, as a share of it: an average is rounded once for each rank, but not
/// where the number of ranks is a power of 2, by which every type divides exactly. From 1 on, nothing wrong is seen.
constexpr double tolerance_of(const CollectiveCase& wanted, int ranks) {
  const bool divides_exactly = is_whole(wanted.type) || (ranks & (ranks - 1)) == 0;
  if (wanted.reduction != Reduction::avg || !reduces(wanted.collective) || divides_exactly) return 0;
  const std::uint64_t limit = wanted.type == ElementType::f64 ? std::uint64_t{1} << 53 : exact_limit(wanted.type);
  return 2.0 * ranks / static_cast<double>(limit);
}

/// Whether a type rounds so much that nothing wrong would be seen; `ranks`: with the one that is left out.
inline bool is_blind(const CollectiveCase& wanted, int ranks) {
  return tolerance_of(wanted, members(wanted, ranks)) >= 1;
}

/// A double whole: as a float, it has half of its bits. What is no type of C++ has at most those of a float.
template <class T>
LINKMATRIX_HOST_DEVICE constexpr double number_of(T element) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(element);
  else
    return static_cast<double>(static_cast<float>(element));
}

/// Whether an element differs from what must have arrived by more than the tolerance; one that is not a number does.
template <class T>
LINKMATRIX_HOST_DEVICE constexpr bool is_wrong(T element, double expected, double tolerance) {
  const double value = number_of(element), most = tolerance * expected;
  return !(value - expected <= most && expected - value <= most);
}

}  // namespace linkmatrix
