#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collective/rank_set.hpp"

namespace linkmatrix {

/// What is left out in turn, to see whom all others are faster without.
enum class LeftOut {
  nobody,
  rank,  ///< each
  node,  ///< all ranks of each
  rail,  ///< the ranks of each number on their nodes, which have the adapters of one rail
  half,  ///< by each binary digit of a rank's number, those with a 1, then those with a 0: few columns tell many ranks
};

/// One column: who does not take part in it.
struct Subset {
  std::string column;  ///< "without-gpu3", "without-n1", "without-rail2", "digit1-is-0"
  RankSet left_out;
};

/// Those of `what`; none where they would tell nothing (see needs). labels, nodes: of each rank, by number.
std::vector<Subset> subsets_of(LeftOut excluded, const std::vector<std::string>& labels,
                               const std::vector<std::string>& nodes);

/// What subsets of `what` need to tell anything: "3 ranks or more".
std::string_view needs(LeftOut excluded);

}  // namespace linkmatrix
