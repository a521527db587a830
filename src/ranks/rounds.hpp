#pragma once

#include <cstddef>
#include <vector>

#include "ranks/messages.hpp"
#include "ranks/options.hpp"

namespace linkmatrix::ranks {

/// What one cell of a matrix is measured by: a lane, or several at once.
struct Match {
  std::size_t row = 0, column = 0;
  std::vector<Lane> lanes;
};

struct RoundOptions {
  bool by_node = false;    ///< a cell is a pair of nodes, and all their ranks exchange data at once
  bool both_ways = false;  ///< each unordered pair once: its match measures both directions
  bool bisection = false;  ///< the first half of the nodes against the second
  Mapping mapping = Mapping::affine;
  std::size_t lanes = 0;  ///< by node: ranks of each node that take part; else: cells measured at once between two
                          ///< nodes. 0: all
};

/// The rounds of a matrix, made one by one when they are asked for, so that no rank ever holds them all. No rank is in
/// two matches of a round, and between two nodes, and inside one, no more run at once than the options allow.
///
/// Nodes meet by the circle method: n − 1 rounds for an even number of them, of each as many as their ranks have pairs
/// left to meet in; one way and then the other, unless a match measures both.
class Rounds {
 public:
  /// ranks_of: the ranks of each node, every rank once.
  Rounds(std::vector<std::vector<int>> ranks_of, const RoundOptions& options);

  std::size_t count() const { return between_ + inside_; }
  /// The matches of a round; empty where nodes have too few ranks for it.
  std::vector<Match> at(std::size_t round) const;
  /// Is this cell measured by a match of its own?
  bool has(std::size_t row, std::size_t column) const;

 private:
  std::vector<Match> between(std::size_t round) const;
  std::vector<Match> inside(std::size_t round) const;
  void pair_off(std::size_t from, std::size_t to, std::size_t shift, std::size_t cut, std::vector<Match>& out) const;
  std::size_t ways() const { return options_.both_ways ? 1 : 2; }

  std::vector<std::vector<int>> ranks_of_;
  std::vector<std::size_t> node_of_;
  RoundOptions options_;
  std::size_t most_ranks_ = 0, width_ = 1, node_rounds_ = 0, shifts_ = 1, cuts_ = 1, between_ = 0, inside_ = 0;
};

}  // namespace linkmatrix::ranks
