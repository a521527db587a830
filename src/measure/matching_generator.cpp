#include "measure/matching_generator.hpp"

#include <algorithm>
#include <map>

namespace linkmatrix {

void MatchingGenerator::meet(const Pair& pair) {
  met_[pair.first].insert(pair.second);
  met_[pair.second].insert(pair.first);
}

/// Returns the endpoints that are not taken, sorted by their number of earlier partners and then random. The last
/// endpoint may stay unpaired.
std::vector<std::size_t> MatchingGenerator::free_endpoints(const std::vector<bool>& taken) {
  std::vector<std::size_t> left;
  for (std::size_t endpoint = 0; endpoint < taken.size(); ++endpoint)
    if (!taken[endpoint]) left.push_back(endpoint);
  shuffle(left);
  std::stable_sort(left.begin(), left.end(),
                   [this](std::size_t a, std::size_t b) { return met_[a].size() < met_[b].size(); });
  return left;
}

std::vector<MatchingGenerator::Pair> MatchingGenerator::pair_with_good(const std::vector<std::size_t>& wanted,
                                                                       const std::vector<bool>& good,
                                                                       std::vector<bool>& taken) {
  std::vector<std::size_t> partners;
  for (std::size_t endpoint = 0; endpoint < good.size(); ++endpoint)
    if (good[endpoint]) partners.push_back(endpoint);
  shuffle(partners);
  std::vector<Pair> pairs;
  for (const std::size_t one : wanted) {
    if (taken[one]) continue;
    const auto partner = std::find_if(partners.begin(), partners.end(), [&](std::size_t other) {
      return !taken[other] && other != one && is_new_pair(one, other);
    });
    if (partner == partners.end()) continue;
    pairs.emplace_back(one, *partner);
    taken[one] = taken[*partner] = true;
    meet(pairs.back());
    *partner = partners.back();
    partners.pop_back();
  }
  return pairs;
}

std::vector<MatchingGenerator::Pair> MatchingGenerator::pair_rest(std::vector<bool>& taken) {
  std::vector<std::size_t> left = free_endpoints(taken), alone;
  std::vector<Pair> pairs;
  const auto pair_up = [&](std::vector<std::size_t>& endpoints, bool only_new) {
    std::vector<std::size_t> without;
    for (std::size_t k = 0; k < endpoints.size(); ++k) {
      const std::size_t one = endpoints[k];
      if (taken[one]) continue;
      std::size_t at = k + 1;
      while (at < endpoints.size() &&
             (taken[endpoints[at]] || !(only_new ? is_new_pair(one, endpoints[at]) : may_meet(one, endpoints[at]))))
        ++at;
      if (at == endpoints.size()) {
        without.push_back(one);
        continue;
      }
      pairs.emplace_back(one, endpoints[at]);
      taken[one] = taken[endpoints[at]] = true;
    }
    endpoints = std::move(without);
  };
  pair_up(left, true);
  for (std::size_t k = 0; k + 1 < left.size(); k += 2)
    if (!exchange(pairs, left[k], left[k + 1]))
      alone.insert(alone.end(), {left[k], left[k + 1]});
    else
      taken[left[k]] = taken[left[k + 1]] = true;
  if (left.size() % 2 == 1) alone.push_back(left.back());
  pair_up(alone, false);  // an earlier partner is better than none
  for (const Pair& pair : pairs) meet(pair);
  return pairs;
}

std::vector<MatchingGenerator::Pair> MatchingGenerator::pair_across_groups(const std::vector<bool>& taken,
                                                                           std::size_t most) {
  std::map<std::string, std::vector<std::size_t>> members;
  for (std::size_t endpoint = 0; endpoint < taken.size(); ++endpoint)
    if (!taken[endpoint]) members[groups_.group[endpoint]].push_back(endpoint);
  std::vector<std::string> free;
  for (auto& [name, endpoints] : members) shuffle(endpoints), free.push_back(name);
  shuffle(free);
  std::vector<Pair> pairs;
  while (free.size() > 1) {
    const std::string first = free.back();
    free.pop_back();
    auto other = std::find_if(free.begin(), free.end(), [&](const std::string& name) {
      return !groups_met_.contains({first, name});
    });
    if (other == free.end()) other = std::prev(free.end());
    groups_met_.insert({first, *other});
    append_pairs(members.at(first), members.at(*other), most, pairs);
    free.erase(other);
  }
  return pairs;
}

/// Appends up to `most` pairs of endpoints in `from` and `to`.
void MatchingGenerator::append_pairs(const std::vector<std::size_t>& from, std::vector<std::size_t> to,
                                     std::size_t most, std::vector<Pair>& pairs) const {
  const std::size_t end = pairs.size() + std::min({most, from.size(), to.size()});
  for (const std::size_t one : from) {
    if (pairs.size() >= end) return;
    const auto partner = std::find_if(to.begin(), to.end(), [&](std::size_t other) {
      return groups_.lane[other] == groups_.lane[one] && groups_.node[other] != groups_.node[one];
    });
    if (partner == to.end()) continue;
    pairs.emplace_back(one, *partner);
    to.erase(partner);
  }
}

/// Pairs two endpoints with the two partners of an existing pair. Returns false if no pair makes this possible.
bool MatchingGenerator::exchange(std::vector<Pair>& pairs, std::size_t a, std::size_t b) const {
  for (Pair& pair : pairs) {
    if (!is_new_pair(a, pair.first) || !is_new_pair(b, pair.second)) std::swap(pair.first, pair.second);
    if (!is_new_pair(a, pair.first) || !is_new_pair(b, pair.second)) continue;
    const std::size_t other = pair.second;
    pair = {a, pair.first};
    pairs.emplace_back(b, other);
    return true;
  }
  return false;
}

}  // namespace linkmatrix
