#pragma once

#include <cstddef>
#include <vector>

#include "measure/matching_generator.hpp"
#include "measure/rounds.hpp"
#include "ranks/messages.hpp"
#include "ranks/options.hpp"

namespace linkmatrix::ranks {

struct RoundOptions {
  bool by_node = false;        ///< a cell is a pair of nodes, and all their ranks exchange data at once
  bool bidirectional = false;  ///< each unordered pair once: its cell measures both directions
  bool bisection = false;      ///< the first half of the nodes against the second
  Mapping mapping = Mapping::affine;
  std::size_t width = 0;  ///< by node: ranks of each node that take part; else: cells measured at once between two
                          ///< nodes. 0: all
};

/// The rounds of a matrix between ranks or nodes, and which pairs of ranks each of its cells is. No rank is in two
/// cells of a round, and between two nodes, and inside one, no more cells run at once than the options allow.
///
/// Nodes are paired by a round robin schedule: n − 1 rounds for an even number of them, of each as many as their ranks
/// have pairs left; one way and then the other, unless a cell measures both.
class RankRounds final : public Rounds {
 public:
  /// ranks_of: the ranks of each node, every rank once.
  RankRounds(std::vector<std::vector<int>> ranks_of, const RoundOptions& options);

  std::size_t count() const override { return between_ + inside_; }
  /// Empty where nodes have too few ranks for it.
  Round at(std::size_t round) const override;
  /// The pairs that exchange data at once in a cell.
  std::vector<RankPair> pairs_of(const Place& place) const;
  bool is_bisection() const { return options_.bisection; }
  /// Where the rows of the matrix are; of ranks, as many of a node share a lane as cells may run at once between two.
  Places places() const;
  /// Is this cell in a round?
  bool has(std::size_t row, std::size_t column) const;

 private:
  Round between(std::size_t round) const;
  Round inside(std::size_t round) const;
  void pair_off(std::size_t from, std::size_t to, std::size_t shift, std::size_t cut, Round& out) const;
  std::size_t ways() const { return options_.bidirectional ? 1 : 2; }

  std::vector<std::vector<int>> ranks_of_;
  std::vector<std::size_t> node_of_;
  RoundOptions options_;
  std::size_t most_ranks_ = 0, width_ = 1, node_rounds_ = 0, shifts_ = 1, cuts_ = 1, between_ = 0, inside_ = 0;
};

}  // namespace linkmatrix::ranks
