#include "collective/subsets.hpp"

#include <algorithm>
#include <map>

namespace linkmatrix {
namespace {

constexpr std::size_t fewest = 3;  // with two columns, the faulty one is unknown
constexpr int fewest_in_half = 2;  // one rank has no partner

using Names = std::vector<std::string>;

/// Ranks of one name together, in the order of their first ones.
std::vector<Subset> without_each(const Names& names) {
  std::vector<Subset> subsets;
  std::map<std::string, std::size_t> place;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    const auto [known, is_new] = place.try_emplace(names[rank], subsets.size());
    if (is_new) subsets.push_back({"without-" + names[rank], {}});
    subsets[known->second].left_out.add(static_cast<int>(rank));
  }
  return subsets;
}

Names rails_of(const Names& nodes) {
  std::map<std::string, int> seen;
  Names rails;
  for (const std::string& node : nodes) rails.push_back("rail" + std::to_string(seen[node]++));
  return rails;
}

bool is_one(const Names& nodes) {
  return std::ranges::all_of(nodes, [&](const std::string& node) { return node == nodes.front(); });
}

std::vector<Subset> halves(int ranks) {
  std::vector<Subset> subsets;
  for (int digit = 0; 1 << digit < ranks; ++digit)
    for (const int taking_part : {0, 1}) {
      Subset half{"digit" + std::to_string(digit) + "-is-" + std::to_string(taking_part), {}};
      for (int rank = 0; rank < ranks; ++rank)
        if ((rank >> digit & 1) != taking_part) half.left_out.add(rank);
      if (ranks - half.left_out.count() >= fewest_in_half) subsets.push_back(half);
    }
  return subsets;
}

}  // namespace

std::vector<Subset> subsets_of(LeftOut excluded, const Names& labels, const Names& nodes) {
  if (labels.size() > RankSet::most) return {};
  std::vector<Subset> subsets;
  switch (excluded) {
    case LeftOut::nobody:
      break;
    case LeftOut::rank:
      subsets = without_each(labels);
      break;
    case LeftOut::node:
      subsets = without_each(nodes);
      break;
    case LeftOut::rail:
      if (!is_one(nodes)) subsets = without_each(rails_of(nodes));
      break;
    case LeftOut::half:
      if (labels.size() > fewest) subsets = halves(static_cast<int>(labels.size()));
      break;
  }
  return subsets.size() < fewest ? std::vector<Subset>() : subsets;
}

std::string_view needs(LeftOut excluded) {
  switch (excluded) {
    case LeftOut::node:
      return "ranks on 3 nodes or more, and 1024 ranks at most";
    case LeftOut::rail:
      return "2 nodes or more with 3 ranks or more, and 1024 ranks at most";
    case LeftOut::half:
      return "4 ranks or more, and 1024 at most";
    default:
      return "3 ranks or more, and 1024 at most";
  }
}

}  // namespace linkmatrix
