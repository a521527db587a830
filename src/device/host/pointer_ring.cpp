#include "device/host/pointer_ring.hpp"

#include <cstring>

namespace linkmatrix {
namespace {

constexpr std::uint64_t stride = 64;  // a cache line

}  // namespace

/// In the order of a full-period congruential generator (Hull & Dobell, 1962).
void build_ring(std::byte* memory, std::uint64_t bytes) {
  std::uint64_t nodes = 1;
  while (2 * nodes * stride <= bytes) nodes *= 2;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    const std::byte* const next = memory + ((i * 2654435761 + 351) & (nodes - 1)) * stride;
    std::memcpy(memory + i * stride, &next, sizeof next);
  }
}

const std::byte* chase(const std::byte* at, std::uint64_t loads) {
  for (std::uint64_t i = 0; i < loads; ++i) at = *reinterpret_cast<const std::byte* const volatile*>(at);
  return at;
}

}  // namespace linkmatrix
