#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace linkmatrix {

/// Where each endpoint is: two of a node never meet, nor two of different lanes. The cells of a lane run at once.
struct Places {
  std::vector<std::size_t> node, lane;
  /// The group of each endpoint, such as its leaf switch: whoever meets is of one. Empty: none is known.
  std::vector<std::string> group{};
};

/// Draws matchings: pairs of which no two have an endpoint in common, each endpoint with one that it has not met before
/// where there is one. The same seed draws the same.
class MatchingGenerator {
 public:
  using Pair = std::pair<std::size_t, std::size_t>;

  MatchingGenerator(Places places, std::uint64_t seed)
      : places_{std::move(places)}, random_{seed}, met_(places_.node.size()) {}

  /// Each of `wanted`, in that order, with a partner of its own that is one of `good`; nobody is in `taken` twice. Who
  /// finds none is left out.
  std::vector<Pair> with_good(const std::vector<std::size_t>& wanted, const std::vector<bool>& good,
                              std::vector<bool>& taken);

  /// All that are not taken among each other; of an odd number, one that was left out least often stays alone.
  std::vector<Pair> rest(std::vector<bool>& taken);

  /// Each group with another one, which it has not met so before where there is one: their endpoints in pairs, `most`
  /// of two groups, those of the first group first. Who is taken takes no part.
  std::vector<Pair> across(const std::vector<bool>& taken, std::size_t most);

  /// Whether these have met in a matching that was drawn, or told with `meet`.
  bool have_met(std::size_t a, std::size_t b) const { return met_[a].contains(b); }
  void meet(const Pair& pair);

  /// In a random order.
  template <class Item>
  void shuffle(std::vector<Item>& items) {
    for (std::size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[random_() % k]);
  }

 private:
  bool may_meet(std::size_t a, std::size_t b) const {
    const bool is_inside = places_.group.empty() || places_.group[a] == places_.group[b];
    return is_inside && places_.node[a] != places_.node[b] && places_.lane[a] == places_.lane[b];
  }
  bool is_new_pair(std::size_t a, std::size_t b) const { return may_meet(a, b) && !have_met(a, b); }
  std::vector<std::size_t> in_turn(const std::vector<bool>& taken);
  void append_pairs(const std::vector<std::size_t>& from, std::vector<std::size_t> to, std::size_t most,
                    std::vector<Pair>& pairs) const;
  bool exchange(std::vector<Pair>& pairs, std::size_t a, std::size_t b) const;

  Places places_;
  std::mt19937_64 random_;
  std::vector<std::set<std::size_t>> met_;  ///< of each endpoint, its partners
  std::set<std::set<std::string>> groups_met_;
};

}  // namespace linkmatrix
