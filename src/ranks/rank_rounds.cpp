#include "ranks/rank_rounds.hpp"

#include <algorithm>
#include <utility>

#include "core/schedule.hpp"

namespace linkmatrix::ranks {

RankRounds::RankRounds(std::vector<std::vector<int>> ranks_of, const RoundOptions& options)
    : ranks_of_{std::move(ranks_of)}, options_{options} {
  const std::size_t nodes = ranks_of_.size();
  for (std::size_t node = 0; node < nodes; ++node) {
    most_ranks_ = std::max(most_ranks_, ranks_of_[node].size());
    for (const int rank : ranks_of_[node]) {
      node_of_.resize(std::max(node_of_.size(), static_cast<std::size_t>(rank) + 1));
      node_of_[static_cast<std::size_t>(rank)] = node;
    }
  }
  width_ = std::clamp<std::size_t>(options_.width == 0 ? most_ranks_ : options_.width, 1, most_ranks_);
  node_rounds_ = options_.bisection ? nodes / 2 : round_robin_rounds(nodes);
  if (!options_.by_node) {
    shifts_ = most_ranks_;
    cuts_ = (most_ranks_ + width_ - 1) / width_;
    if (!options_.bisection)
      inside_ = round_robin_rounds(most_ranks_) * ((most_ranks_ / 2 + width_ - 1) / width_) * directions();
  }
  between_ = node_rounds_ * shifts_ * cuts_ * directions();
}

Round RankRounds::at(std::size_t round) const { return round < between_ ? between(round) : inside(round - between_); }

Round RankRounds::between(std::size_t round) const {
  const bool back = round % directions() == 1;
  round /= directions();
  const std::size_t cut = round % cuts_, shift = round / cuts_ % shifts_, node_round = round / cuts_ / shifts_;
  const std::size_t nodes = ranks_of_.size(), half = nodes / 2;
  Round out;
  const auto pair = [&](std::size_t a, std::size_t b) {
    back ? pair_off(b, a, shift, cut, out) : pair_off(a, b, shift, cut, out);
  };
  if (options_.bisection)
    for (std::size_t node = 0; node < half; ++node) pair(node, half + (node + node_round) % half);
  else
    for (const auto& [a, b] : round_robin_round(nodes, node_round)) pair(a, b);
  return out;
}

/// Appends the cells between two nodes in one round: one cell if rows are nodes, else one per pair of ranks.
void RankRounds::pair_off(std::size_t from, std::size_t to, std::size_t shift, std::size_t cut, Round& out) const {
  if (options_.by_node) {
    out.push_back({from, to});
    return;
  }
  const std::vector<int>&a = ranks_of_[from], &b = ranks_of_[to];
  const std::size_t few = std::min(a.size(), b.size()), many = std::max(a.size(), b.size());
  if (shift >= many) return;
  for (std::size_t i = cut * width_; i < std::min(few, (cut + 1) * width_); ++i) {
    const std::size_t far = (i + shift) % many;
    const bool first_has_fewer = a.size() <= b.size();
    out.push_back({static_cast<std::size_t>(first_has_fewer ? a[i] : a[far]),
                   static_cast<std::size_t>(first_has_fewer ? b[far] : b[i])});
  }
}

std::vector<RankPair> RankRounds::pairs_of(const CellIndex& cell) const {
  if (!options_.by_node) return {{static_cast<int>(cell.row), static_cast<int>(cell.column)}};
  const std::vector<int>&a = ranks_of_[cell.row], &b = ranks_of_[cell.column];
  const std::size_t count = std::min({a.size(), b.size(), width_}), crossed = options_.mapping == Mapping::crossed;
  std::vector<RankPair> pairs;
  for (std::size_t i = 0; i < count; ++i) pairs.push_back({a[i], b[(i + crossed) % count]});
  return pairs;
}

/// Rounds inside nodes: every node has its own schedule, and all nodes measure concurrently.
Round RankRounds::inside(std::size_t round) const {
  const bool back = round % directions() == 1;
  round /= directions();
  const std::size_t cuts = (most_ranks_ / 2 + width_ - 1) / width_, cut = round % cuts, turn = round / cuts;
  Round out;
  for (const std::vector<int>& ranks : ranks_of_) {
    if (turn >= round_robin_rounds(ranks.size())) continue;
    const auto pairs = round_robin_round(ranks.size(), turn);
    for (std::size_t k = cut * width_; k < std::min(pairs.size(), (cut + 1) * width_); ++k) {
      CellIndex cell{static_cast<std::size_t>(ranks[pairs[k].first]), static_cast<std::size_t>(ranks[pairs[k].second])};
      if (back) std::swap(cell.row, cell.column);
      out.push_back(cell);
    }
  }
  return out;
}

EndpointGroups RankRounds::endpoint_groups() const {
  EndpointGroups out;
  for (std::size_t node = 0; node < ranks_of_.size(); ++node) {
    if (options_.by_node) {
      out.node.push_back(node);
      out.lane.push_back(0);
      continue;
    }
    out.node.resize(node_of_.size());
    out.lane.resize(node_of_.size());
    for (std::size_t k = 0; k < ranks_of_[node].size(); ++k) {
      const auto rank = static_cast<std::size_t>(ranks_of_[node][k]);
      out.node[rank] = node;
      out.lane[rank] = k / width_;
    }
  }
  return out;
}

bool RankRounds::has(std::size_t row, std::size_t column) const {
  if (row == column) return false;
  if (!options_.bisection) return true;
  const std::size_t half = ranks_of_.size() / 2, a = options_.by_node ? row : node_of_[row],
                    b = options_.by_node ? column : node_of_[column];
  return (a < half) != (b < half) && a < 2 * half && b < 2 * half;
}

}  // namespace linkmatrix::ranks
