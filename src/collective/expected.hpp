#pragma once

#include <cstdint>
#include <type_traits>

#include "collective/layout.hpp"
#include "core/pattern.hpp"

namespace linkmatrix {

/// Parameters of the data that ranks send and must receive. Elements are whole numbers that the type represents
/// exactly, also as partial sums in any order, so that every wrong element is detected. They depend only on rank and
/// position.
struct Expectation {
  Collective collective;
  Reduction reduction;
  int ranks, root, source;  ///< number of ranks; rank of the root; sending rank of Collective::send
  std::uint64_t part;       ///< see Layout::part
  std::uint64_t limit;      ///< largest number up to which the type represents all whole numbers
  std::uint64_t factors;    ///< maximum number of ranks that contribute a factor 2 to a product
};

/// Returns the largest n ≤ 2²⁴ such that the type represents 0 to n exactly.
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
  // Not all ranks contribute a 2: otherwise a rank that is counted twice instead of another would not be detected.
  while (out.factors < static_cast<std::uint64_t>(ranks) && (std::uint64_t{2} << out.factors) <= out.limit)
    ++out.factors;
  return out;
}

/// Returns element `index` of the data that a rank sends.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t sent_element(const Expectation& e, int rank, std::uint64_t index) {
  const std::uint64_t mixed = pattern_word(static_cast<std::uint64_t>(rank) + 1, index);
  if (!reduces(e.collective) || e.reduction == Reduction::min || e.reduction == Reduction::max)
    return mixed % (e.limit + 1);
  const std::uint64_t turn = (static_cast<std::uint64_t>(rank) + index) % static_cast<std::uint64_t>(e.ranks);
  if (e.reduction == Reduction::prod) {
    // For each element, other ranks contribute a 2.
    return turn < pattern_word(0, index) % (e.factors + 1) ? 2 : 1;
  }
  const std::uint64_t each = e.limit / static_cast<std::uint64_t>(e.ranks);
  if (each > 0) return mixed % (each + 1);
  return turn < e.limit ? mixed % 2 : 0;  // more ranks than `limit`: for each element, other ranks contribute
}

/// Returns the reduction of all ranks' elements at `index`.
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

/// Returns element `index` of the data that a rank must receive. The rank must receive data.
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

/// Returns the number of elements that a rank receives; 0 if it receives nothing.
inline std::uint64_t received_elements(const CollectiveCase& wanted, const Layout& layout, int rank) {
  const bool only_root = wanted.collective == Collective::reduce || wanted.collective == Collective::gather;
  const bool only_destination = wanted.collective == Collective::send;
  const bool is_excluded = wanted.excluded.has(rank) || (only_root && rank != wanted.root) ||
                           (only_destination && rank != wanted.destination);
  return is_excluded ? 0 : layout.received;
}

/// Returns the number of elements that a rank sends; 0 if it sends nothing.
inline std::uint64_t sent_elements(const CollectiveCase& wanted, const Layout& layout, int rank) {
  const bool only_root = wanted.collective == Collective::broadcast || wanted.collective == Collective::scatter;
  const bool is_excluded = wanted.excluded.has(rank) || (only_root && rank != wanted.root) ||
                           (wanted.collective == Collective::send && rank != wanted.source);
  return is_excluded ? 0 : layout.sent;
}

/// Returns whether a rank takes part.
inline bool takes_part(const CollectiveCase& wanted, int rank) {
  if (wanted.collective == Collective::send) return rank == wanted.source || rank == wanted.destination;
  return !wanted.excluded.has(rank);
}

/// Returns the offset in elements of a rank's part in the larger buffer, for in-place collectives.
constexpr std::uint64_t place_of_part(const Layout& layout, int rank) {
  return static_cast<std::uint64_t>(rank) * layout.part;
}

/// Returns whether a type is an integer type; its averages are rounded down.
constexpr bool is_whole(ElementType type) {
  return type == ElementType::i8 || type == ElementType::u8 || type == ElementType::i32 || type == ElementType::u32 ||
         type == ElementType::i64 || type == ElementType::u64;
}

/// Returns the tolerance of a value as a fraction; 0: exact. Averages are rounded once per rank, unless the number of
/// ranks is a power of 2 or the type is an integer. With 1 or more, no error is detectable.
constexpr double tolerance_of(const CollectiveCase& wanted, int ranks) {
  const bool divides_exactly = is_whole(wanted.type) || (ranks & (ranks - 1)) == 0;
  if (wanted.reduction != Reduction::avg || !reduces(wanted.collective) || divides_exactly) return 0;
  const std::uint64_t limit = wanted.type == ElementType::f64 ? std::uint64_t{1} << 53 : exact_limit(wanted.type);
  return 2.0 * ranks / static_cast<double>(limit);
}

/// Returns whether the type rounds so coarsely that no error is detectable. ranks: includes excluded ranks.
inline bool cannot_detect_errors(const CollectiveCase& wanted, int ranks) {
  return tolerance_of(wanted, members(wanted, ranks)) >= 1;
}

/// Returns an element as a double. Types that C++ lacks, such as half, are converted by way of float.
template <class T>
LINKMATRIX_HOST_DEVICE constexpr double number_of(T element) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(element);
  else
    return static_cast<double>(static_cast<float>(element));
}

/// Returns whether an element differs from the expected one by more than the tolerance; true for NaN.
template <class T>
LINKMATRIX_HOST_DEVICE constexpr bool is_wrong(T element, double expected, double tolerance) {
  const double value = number_of(element), most = tolerance * expected;
  return !(value - expected <= most && expected - value <= most);
}

}  // namespace linkmatrix
