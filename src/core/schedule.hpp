#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace linkmatrix {

using Pair = std::pair<int, int>;

/// Rounds of a round robin schedule of n by the circle method, where every unordered pair meets once and each
/// round's pairs are disjoint: n − 1 for an even n; n, each with a bye, for an odd n.
std::size_t round_robin_rounds(std::size_t n);

/// The pairs of one round, (smaller, larger).
std::vector<std::pair<std::size_t, std::size_t>> round_robin_round(std::size_t n, std::size_t round);

/// All rounds.
std::vector<std::vector<Pair>> round_robin(int n);

/// Orders items into rounds in which no two share a resource: each item joins the first round that is free of its
/// resources, so the order of the items decides the rounds (a round robin's order gives its rounds back).
std::vector<std::vector<std::size_t>> pack_rounds(std::size_t items,
                                                  const std::function<std::vector<int>(std::size_t)>& resources);

/// Cuts every round into pieces of at most `width` items.
template <class Item>
std::vector<std::vector<Item>> split_rounds(const std::vector<std::vector<Item>>& rounds, std::size_t width) {
  std::vector<std::vector<Item>> out;
  for (const auto& round : rounds)
    for (std::size_t start = 0; start < round.size(); start += std::min(width, round.size())) {
      const auto first = round.begin() + static_cast<std::ptrdiff_t>(start);
      out.emplace_back(first, first + static_cast<std::ptrdiff_t>(std::min(width, round.size() - start)));
    }
  return out;
}

}  // namespace linkmatrix
