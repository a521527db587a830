#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace linkmatrix {

/// Chains of accesses of 8 bytes, each waiting for the one before.

/// Makes a ring of pointers in memory, one in each cache line, as many as fit a power of two; it begins at `memory`.
void build_ring(std::byte* memory, std::uint64_t bytes);

/// Follows the ring from `at`, every load waiting for the last; returns where it ended, so that no load is left out.
const std::byte* chase(const std::byte* at, std::uint64_t loads);

/// Adds atomically to the word at `memory`, each addition waiting for the answer of the last.
void add_atomically(std::byte* memory, std::uint64_t additions);

/// Two threads hand a flag to and fro: `serve` writes 1, 2 … to `theirs` and waits for the same at `mine`; `answer`
/// waits for them at `mine` and writes them to `theirs`. Both words are 0 before. They end early when `stop` is set.
void serve(std::byte* theirs, std::byte* mine, std::uint64_t rounds, const std::atomic<bool>& stop);
void answer(std::byte* mine, std::byte* theirs, std::uint64_t rounds, const std::atomic<bool>& stop);

/// How often a waiting thread looks at memory before it gives its core away: whom it waits for may need that core.
constexpr int looks_between_yields = 4096;

}  // namespace linkmatrix
