#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace linkmatrix {

/// Location of each endpoint. Endpoints of one node, or of different lanes, never form a pair. The cells of a lane run
/// concurrently.
struct Places {
  std::vector<std::size_t> node, lane;
  /// Group of each endpoint, such as its leaf switch. Pairs are inside groups. Empty: no groups.
  std::vector<std::string> group{};
};

/// Draws random matchings: disjoint pairs of endpoints. Each endpoint gets a partner that it has not met before, if
/// possible. The same seed draws the same matchings.
class MatchingGenerator {
 public:
  using Pair = std::pair<std::size_t, std::size_t>;

  MatchingGenerator(Places places, std::uint64_t seed)
      : places_{std::move(places)}, random_{seed}, met_(places_.node.size()) {}

  /// Pairs each endpoint of `wanted`, in order, with an endpoint of `good`. Marks paired endpoints in `taken`.
  /// Endpoints without a partner are not paired.
  std::vector<Pair> with_good(const std::vector<std::size_t>& wanted, const std::vector<bool>& good,
                              std::vector<bool>& taken);

  /// Pairs all endpoints that are not in `taken`. Of an odd number, the endpoint that was unpaired least often stays
  /// unpaired.
  std::vector<Pair> rest(std::vector<bool>& taken);

  /// Pairs endpoints of each group with endpoints of another group, a new one if possible. most: maximum number of
  /// pairs per two groups. Endpoints in `taken` are excluded.
  std::vector<Pair> across(const std::vector<bool>& taken, std::size_t most);

  /// Returns whether two endpoints were paired by this generator or by `meet`.
  bool have_met(std::size_t a, std::size_t b) const { return met_[a].contains(b); }
  void meet(const Pair& pair);

  /// Shuffles the items.
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
  std::vector<std::set<std::size_t>> met_;  ///< earlier partners of each endpoint
  std::set<std::set<std::string>> groups_met_;
};

}  // namespace linkmatrix
