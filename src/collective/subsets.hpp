#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collective/rank_set.hpp"

namespace linkmatrix {

/// Component excluded in turn, to find the one without which all others are faster.
enum class LeftOut {
  nobody,
  rank,  ///< each rank
  node,  ///< all ranks of each node
  rail,  ///< the ranks with each number on their nodes, which share the adapters of a rail
  half,  ///< for each binary digit of the rank number, ranks with 1, then ranks with 0: few columns identify many ranks
};

/// One column: its excluded ranks.
struct Subset {
  std::string column;  ///< "without-gpu3", "without-n1", "without-rail2", "digit1-is-0"
  RankSet left_out;
};

/// Returns the subsets; empty if they would not be informative (see needs). labels, nodes: of each rank, by number.
std::vector<Subset> subsets_of(LeftOut excluded, const std::vector<std::string>& labels,
                               const std::vector<std::string>& nodes);

/// Returns the requirement of informative subsets: "3 ranks or more".
std::string_view needs(LeftOut excluded);

}  // namespace linkmatrix
