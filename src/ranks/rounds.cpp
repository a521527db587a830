#include "ranks/rounds.hpp"

#include <algorithm>

#include "core/schedule.hpp"

namespace linkmatrix::ranks {

Rounds::Rounds(std::vector<std::vector<int>> ranks_of, const RoundOptions& options)
    : ranks_of_{std::move(ranks_of)}, options_{options} {
  const std::size_t nodes = ranks_of_.size();
  for (std::size_t node = 0; node < nodes; ++node) {
    most_ranks_ = std::max(most_ranks_, ranks_of_[node].size());
    for (const int rank : ranks_of_[node]) {
      node_of_.resize(std::max(node_of_.size(), static_cast<std::size_t>(rank) + 1));
      node_of_[static_cast<std::size_t>(rank)] = node;
    }
  }
  width_ = std::clamp<std::size_t>(options_.lanes == 0 ? most_ranks_ : options_.lanes, 1, most_ranks_);
  node_rounds_ = options_.bisection ? nodes / 2 : tournament_rounds(nodes);
  if (!options_.by_node) {
    shifts_ = most_ranks_;
    cuts_ = (most_ranks_ + width_ - 1) / width_;
    if (!options_.bisection)
      inside_ = tournament_rounds(most_ranks_) * ((most_ranks_ / 2 + width_ - 1) / width_) * ways();
  }
  between_ = node_rounds_ * shifts_ * cuts_ * ways();
}

std::vector<Match> Rounds::at(std::size_t round) const {
  return round < between_ ? between(round) : inside(round - between_);
}

std::vector<Match> Rounds::between(std::size_t round) const {
  const bool back = round % ways() == 1;
  round /= ways();
  const std::size_t cut = round % cuts_, shift = round / cuts_ % shifts_, node_round = round / cuts_ / shifts_;
  const std::size_t nodes = ranks_of_.size(), half = nodes / 2;
  std::vector<Match> out;
  const auto meet = [&](std::size_t a, std::size_t b) {
    back ? pair_off(b, a, shift, cut, out) : pair_off(a, b, shift, cut, out);
  };
  if (options_.bisection)
    for (std::size_t node = 0; node < half; ++node) meet(node, half + (node + node_round) % half);
  else
    for (const auto& [a, b] : tournament_round(nodes, node_round)) meet(a, b);
  return out;
}

/// The matches between two nodes in one round: each with all its lanes, or one for each pair of ranks that is due.
void Rounds::pair_off(std::size_t from, std::size_t to, std::size_t shift, std::size_t cut,
                      std::vector<Match>& out) const {
  const std::vector<int>&a = ranks_of_[from], &b = ranks_of_[to];
  const std::size_t few = std::min(a.size(), b.size()), many = std::max(a.size(), b.size());
  if (options_.by_node) {
    Match match{from, to, {}};
    const std::size_t lanes = std::min(few, width_), crossed = options_.mapping == Mapping::crossed ? 1 : 0;
    for (std::size_t i = 0; i < lanes; ++i) match.lanes.push_back({a[i], b[(i + crossed) % lanes]});
    out.push_back(std::move(match));
    return;
  }
  if (shift >= many) return;
  for (std::size_t i = cut * width_; i < std::min(few, (cut + 1) * width_); ++i) {
    const std::size_t far = (i + shift) % many;
    const Lane lane = a.size() <= b.size() ? Lane{a[i], b[far]} : Lane{a[far], b[i]};
    out.push_back({static_cast<std::size_t>(lane.source), static_cast<std::size_t>(lane.destination), {lane}});
  }
}

/// Every node plays its own tournament; in all nodes at once.
std::vector<Match> Rounds::inside(std::size_t round) const {
  const bool back = round % ways() == 1;
  round /= ways();
  const std::size_t cuts = (most_ranks_ / 2 + width_ - 1) / width_, cut = round % cuts, turn = round / cuts;
  std::vector<Match> out;
  for (const std::vector<int>& ranks : ranks_of_) {
    if (turn >= tournament_rounds(ranks.size())) continue;
    const auto pairs = tournament_round(ranks.size(), turn);
    for (std::size_t k = cut * width_; k < std::min(pairs.size(), (cut + 1) * width_); ++k) {
      Lane lane{ranks[pairs[k].first], ranks[pairs[k].second]};
      if (back) std::swap(lane.source, lane.destination);
      out.push_back({static_cast<std::size_t>(lane.source), static_cast<std::size_t>(lane.destination), {lane}});
    }
  }
  return out;
}

bool Rounds::has(std::size_t row, std::size_t column) const {
  if (row == column) return false;
  if (!options_.bisection) return true;
  const std::size_t half = ranks_of_.size() / 2, a = options_.by_node ? row : node_of_[row],
                    b = options_.by_node ? column : node_of_[column];
  return (a < half) != (b < half) && a < 2 * half && b < 2 * half;
}

}  // namespace linkmatrix::ranks
