#include "core/schedule.hpp"

#include <algorithm>
#include <set>

namespace linkmatrix {

std::size_t round_robin_rounds(std::size_t n) { return n < 2 ? 0 : n - 1 + n % 2; }

std::vector<std::pair<std::size_t, std::size_t>> round_robin_round(std::size_t n, std::size_t round) {
  const std::size_t seats = n + n % 2;  // odd n: one seat is empty, and its partner rests
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t k = 0; k < seats / 2; ++k) {
    // Seat `seats - 1` is fixed; the others rotate by one per round.
    const std::size_t a = k == 0 ? seats - 1 : (round + k) % (seats - 1);
    const std::size_t b = k == 0 ? round : (round + seats - 1 - k) % (seats - 1);
    if (std::max(a, b) < n) pairs.emplace_back(std::min(a, b), std::max(a, b));
  }
  return pairs;
}

std::vector<std::vector<Pair>> round_robin(int n) {
  std::vector<std::vector<Pair>> rounds;
  const auto count = static_cast<std::size_t>(n);
  for (std::size_t round = 0; round < round_robin_rounds(count); ++round) {
    auto& pairs = rounds.emplace_back();
    for (const auto& [a, b] : round_robin_round(count, round))
      pairs.emplace_back(static_cast<int>(a), static_cast<int>(b));
  }
  return rounds;
}

std::vector<std::vector<std::size_t>> pack_rounds(std::size_t items,
                                                  const std::function<std::vector<int>(std::size_t)>& resources) {
  struct Round {
    std::vector<std::size_t> items;
    std::set<int> taken;
  };
  std::vector<Round> rounds;
  for (std::size_t item = 0; item < items; ++item) {
    const auto wanted = resources(item);
    const auto is_free = [&](const Round& r) {
      return std::none_of(wanted.begin(), wanted.end(), [&](int w) { return r.taken.contains(w); });
    };
    auto round = std::find_if(rounds.begin(), rounds.end(), is_free);
    if (round == rounds.end()) round = rounds.emplace(rounds.end());
    round->items.push_back(item);
    round->taken.insert(wanted.begin(), wanted.end());
  }
  std::vector<std::vector<std::size_t>> out;
  out.reserve(rounds.size());
  for (auto& round : rounds) out.push_back(std::move(round.items));
  return out;
}

}  // namespace linkmatrix
