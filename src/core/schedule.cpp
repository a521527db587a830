#include "core/schedule.hpp"

#include <algorithm>
#include <set>

namespace linkmatrix {

std::vector<std::vector<Pair>> tournament(int n) {
  const int seats = n + n % 2;  // an odd n plays against an empty seat: its bye
  std::vector<std::vector<Pair>> rounds;
  for (int round = 0; round + 1 < seats; ++round) {
    std::vector<Pair> pairs;
    for (int k = 0; k < seats / 2; ++k) {
      // Seat `seats - 1` stays, the others turn by one each round.
      const int a = k == 0 ? seats - 1 : (round + k) % (seats - 1);
      const int b = k == 0 ? round : (round - k + seats - 1) % (seats - 1);
      if (std::max(a, b) < n) pairs.emplace_back(std::min(a, b), std::max(a, b));
    }
    if (!pairs.empty()) rounds.push_back(std::move(pairs));
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

std::vector<std::vector<std::size_t>> split_rounds(const std::vector<std::vector<std::size_t>>& rounds,
                                                   std::size_t width) {
  std::vector<std::vector<std::size_t>> out;
  for (const auto& round : rounds)
    for (std::size_t start = 0; start < round.size(); start += width) {
      const auto first = round.begin() + static_cast<std::ptrdiff_t>(start);
      out.emplace_back(first, first + static_cast<std::ptrdiff_t>(std::min(width, round.size() - start)));
    }
  return out;
}

std::size_t widest(const std::vector<std::vector<std::size_t>>& rounds) {
  std::size_t width = 0;
  for (const auto& round : rounds) width = std::max(width, round.size());
  return width;
}

}  // namespace linkmatrix
