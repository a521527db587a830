#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace linkmatrix {

// Chains of dependent 8-byte accesses.

/// Builds a ring of pointers in pseudo-random order, one per cache line. Their number is the largest power of two that
/// fits into `bytes`. `memory` is the address of one of them.
void build_ring(std::byte* memory, std::uint64_t bytes);

/// Follows the ring from `at` with `loads` dependent loads. Returns the last position.
const std::byte* chase(const std::byte* at, std::uint64_t loads);

/// Adds atomically to the word at `memory`, one addition after the other.
void add_atomically(std::byte* memory, std::uint64_t additions);

/// Two threads exchange a flag `rounds` times. `serve` writes 1, 2, … to `theirs` and waits for the same number at
/// `mine`. `answer` waits for each number at `mine` and writes it to `theirs`. Both words are initially 0. Both
/// functions return early when `stop` is set.
void serve(std::byte* theirs, std::byte* mine, std::uint64_t rounds, const std::atomic<bool>& stop);
void answer(std::byte* mine, std::byte* theirs, std::uint64_t rounds, const std::atomic<bool>& stop);

/// Number of polls before a waiting thread yields its core, which the other thread may need.
constexpr int polls_between_yields = 4096;

}  // namespace linkmatrix
