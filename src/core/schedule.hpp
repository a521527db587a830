#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace linkmatrix {

using Pair = std::pair<int, int>;

/// Returns the number of rounds of a round robin schedule of n items: n − 1 for even n, n for odd n (one item rests per
/// round). Each unordered pair meets once, and the pairs of a round are disjoint.
std::size_t round_robin_rounds(std::size_t n);

/// Returns the pairs of one round by the circle method, each as (smaller, larger).
std::vector<std::pair<std::size_t, std::size_t>> round_robin_round(std::size_t n, std::size_t round);

/// Returns the pairs of all rounds.
std::vector<std::vector<Pair>> round_robin(int n);

/// Groups the items 0 to items − 1 into rounds in which no two items share a resource. Greedy: each item joins the
/// first round without its resources. Items in the order of a round robin schedule reproduce its rounds.
std::vector<std::vector<std::size_t>> pack_rounds(std::size_t items,
                                                  const std::function<std::vector<int>(std::size_t)>& resources);

/// Splits each round into pieces of at most `width` items.
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
