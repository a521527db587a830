#include "measure/matchmaker.hpp"

#include <algorithm>

namespace linkmatrix {

void Matchmaker::meet(const Pair& pair) {
  met_[pair.first].insert(pair.second);
  met_[pair.second].insert(pair.first);
}

/// Those that are not taken at random, those with the fewest partners so far first: the last one may be left out.
std::vector<std::size_t> Matchmaker::in_turn(const std::vector<bool>& taken) {
  std::vector<std::size_t> left;
  for (std::size_t endpoint = 0; endpoint < taken.size(); ++endpoint)
    if (!taken[endpoint]) left.push_back(endpoint);
  shuffle(left);
  std::stable_sort(left.begin(), left.end(),
                   [this](std::size_t a, std::size_t b) { return met_[a].size() < met_[b].size(); });
  return left;
}

std::vector<Matchmaker::Pair> Matchmaker::with_good(const std::vector<std::size_t>& wanted,
                                                    const std::vector<bool>& good, std::vector<bool>& taken) {
  std::vector<std::size_t> partners;
  for (std::size_t endpoint = 0; endpoint < good.size(); ++endpoint)
    if (good[endpoint]) partners.push_back(endpoint);
  shuffle(partners);
  std::vector<Pair> pairs;
  for (const std::size_t one : wanted) {
    if (taken[one]) continue;
    const auto partner = std::find_if(partners.begin(), partners.end(), [&](std::size_t other) {
      return !taken[other] && other != one && may_meet_anew(one, other);
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

std::vector<Matchmaker::Pair> Matchmaker::rest(std::vector<bool>& taken) {
  std::vector<std::size_t> left = in_turn(taken), alone;
  std::vector<Pair> pairs;
  const auto pair_off = [&](std::vector<std::size_t>& those, bool anew) {
    std::vector<std::size_t> without;
    for (std::size_t k = 0; k < those.size(); ++k) {
      const std::size_t one = those[k];
      if (taken[one]) continue;
      std::size_t at = k + 1;
      while (at < those.size() &&
             (taken[those[at]] || !(anew ? may_meet_anew(one, those[at]) : may_meet(one, those[at]))))
        ++at;
      if (at == those.size()) {
        without.push_back(one);
        continue;
      }
      pairs.emplace_back(one, those[at]);
      taken[one] = taken[those[at]] = true;
    }
    those = std::move(without);
  };
  pair_off(left, true);
  for (std::size_t k = 0; k + 1 < left.size(); k += 2)
    if (!exchange(pairs, left[k], left[k + 1]))
      alone.insert(alone.end(), {left[k], left[k + 1]});
    else
      taken[left[k]] = taken[left[k + 1]] = true;
  if (left.size() % 2 == 1) alone.push_back(left.back());
  pair_off(alone, false);  // rather one that they have met than nobody
  for (const Pair& pair : pairs) meet(pair);
  return pairs;
}

/// Two that may not meet take the partners of a pair that can do without each other.
bool Matchmaker::exchange(std::vector<Pair>& pairs, std::size_t a, std::size_t b) const {
  for (Pair& pair : pairs) {
    if (!may_meet_anew(a, pair.first) || !may_meet_anew(b, pair.second)) std::swap(pair.first, pair.second);
    if (!may_meet_anew(a, pair.first) || !may_meet_anew(b, pair.second)) continue;
    const std::size_t other = pair.second;
    pair = {a, pair.first};
    pairs.emplace_back(b, other);
    return true;
  }
  return false;
}

}  // namespace linkmatrix
