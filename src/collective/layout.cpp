#include "collective/layout.hpp"

#include <algorithm>

namespace linkmatrix {
namespace {

constexpr std::uint64_t part_alignment = 16;  // bytes, as in nccl-tests

/// Returns the elements per rank in a buffer with `bytes` bytes.
std::uint64_t part_of(std::uint64_t bytes, std::uint64_t element, std::uint64_t ranks) {
  const std::uint64_t step = std::max<std::uint64_t>(part_alignment / element, 1);
  return bytes / element / ranks / step * step;
}

}  // namespace

std::size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
    case ElementType::u64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::u32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    default:
      return 1;
  }
}

std::uint64_t least_bytes(int ranks) { return part_alignment * static_cast<std::uint64_t>(ranks); }

Layout layout_of(const CollectiveCase& wanted, int ranks) {
  const std::uint64_t element = bytes_of(wanted.type), n = static_cast<std::uint64_t>(members(wanted, ranks));
  const std::uint64_t all = wanted.bytes / element, part = part_of(wanted.bytes, element, n);
  const double others = static_cast<double>(n - 1) / static_cast<double>(n);
  Layout out;
  switch (wanted.collective) {
    case Collective::all_reduce:
      out = {all, all, 0, 0, 2 * others};
      break;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::sendrecv:
    case Collective::send:
      out = {all, all, 0, 0, 1};
      break;
    case Collective::all_gather:
    case Collective::gather:
      out = {part, part * n, part, 0, others};
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      out = {part * n, part, part, 0, others};
      break;
    case Collective::alltoall:
      out = {part * n, part * n, part, 0, others};
      break;
  }
  out.size_bytes = out.elements() * element;
  if (out.size_bytes == 0)
    throw BadInput("--size " + std::to_string(wanted.bytes) + ": too few bytes for " +
                   std::string(word(wanted.collective)) + " between " + std::to_string(ranks) +
                   " ranks: each rank needs at least 16 bytes");
  return out;
}

}  // namespace linkmatrix
