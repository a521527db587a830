#include "device/host/chains.hpp"

#include <cstring>
#include <thread>

namespace linkmatrix {
namespace {

constexpr std::uint64_t stride = 64;  // a cache line

std::atomic_ref<std::uint64_t> word_at(std::byte* memory) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory));
}

void wait_for(std::byte* memory, std::uint64_t value, const std::atomic<bool>& stop) {
  for (std::uint64_t polls = 1; word_at(memory).load(std::memory_order_acquire) < value; ++polls) {
    if (polls % polls_between_yields != 0) continue;
    if (stop) return;
    std::this_thread::yield();
  }
}

}  // namespace

/// Orders the elements by a full-period congruential generator (Hull & Dobell, 1962).
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

void add_atomically(std::byte* memory, std::uint64_t additions) {
  std::uint64_t last = 0;
  // Each addend depends on the last answer, so that no two additions overlap.
  for (std::uint64_t i = 0; i < additions; ++i) last = word_at(memory).fetch_add(1 + (last & 1));
}

void serve(std::byte* theirs, std::byte* mine, std::uint64_t rounds, const std::atomic<bool>& stop) {
  for (std::uint64_t i = 1; i <= rounds && !stop; ++i) {
    word_at(theirs).store(i, std::memory_order_release);
    wait_for(mine, i, stop);
  }
}

void answer(std::byte* mine, std::byte* theirs, std::uint64_t rounds, const std::atomic<bool>& stop) {
  for (std::uint64_t i = 1; i <= rounds && !stop; ++i) {
    wait_for(mine, i, stop);
    word_at(theirs).store(i, std::memory_order_release);
  }
}

}  // namespace linkmatrix
