#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace linkmatrix {

/// Location of each endpoint, by its index. Endpoints of one node never form a pair, nor do endpoints of different
/// lanes. The cells of one lane run concurrently.
struct EndpointGroups {
  std::vector<std::size_t> node, lane;
  /// Group of each endpoint, such as its leaf switch. Empty: no groups. With groups, pairs are inside groups.
  std::vector<std::string> group{};
};

/// Draws random matchings: disjoint pairs of endpoints. Prefers pairs that were not drawn before. The same seed draws
/// the same matchings.
class MatchingGenerator {
 public:
  using Pair = std::pair<std::size_t, std::size_t>;

  MatchingGenerator(EndpointGroups groups, std::uint64_t seed)
      : groups_{std::move(groups)}, random_{seed}, met_(groups_.node.size()) {}

  /// Pairs each endpoint of `wanted`, in order, with a new partner. good: for each endpoint, whether it may be the
  /// partner. Sets `taken` for paired endpoints, and leaves out endpoints without a possible partner.
  std::vector<Pair> pair_with_good(const std::vector<std::size_t>& wanted, const std::vector<bool>& good,
                                   std::vector<bool>& taken);

  /// Pairs all endpoints whose `taken` is false, and sets `taken` for these. If the number is odd, one of the endpoints
  /// with the most earlier partners stays unpaired.
  std::vector<Pair> pair_rest(std::vector<bool>& taken);

  /// Pairs groups, preferably groups that were not paired before, and draws up to `most` pairs between the two groups
  /// of a pair. taken: for each endpoint, whether it is excluded.
  std::vector<Pair> pair_across_groups(const std::vector<bool>& taken, std::size_t most);

  /// Returns whether two endpoints were paired by this generator or recorded by `meet`.
  bool have_met(std::size_t a, std::size_t b) const { return met_[a].contains(b); }
  /// Records a pair that the caller chose.
  void meet(const Pair& pair);

  /// Shuffles the items.
  template <class Item>
  void shuffle(std::vector<Item>& items) {
    for (std::size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[random_() % k]);
  }

 private:
  bool may_meet(std::size_t a, std::size_t b) const {
    const bool is_inside = groups_.group.empty() || groups_.group[a] == groups_.group[b];
    return is_inside && groups_.node[a] != groups_.node[b] && groups_.lane[a] == groups_.lane[b];
  }
  bool is_new_pair(std::size_t a, std::size_t b) const { return may_meet(a, b) && !have_met(a, b); }
  std::vector<std::size_t> free_endpoints(const std::vector<bool>& taken);
  void append_pairs(const std::vector<std::size_t>& from, std::vector<std::size_t> to, std::size_t most,
                    std::vector<Pair>& pairs) const;
  bool exchange(std::vector<Pair>& pairs, std::size_t a, std::size_t b) const;

  EndpointGroups groups_;
  std::mt19937_64 random_;
  std::vector<std::set<std::size_t>> met_;      ///< earlier partners of each endpoint
  std::set<std::set<std::string>> groups_met_;  ///< earlier pairs of groups
};

}  // namespace linkmatrix
