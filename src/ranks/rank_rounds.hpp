#pragma once

#include <cstddef>
#include <vector>

#include "measure/matching_generator.hpp"
#include "measure/rounds.hpp"
#include "ranks/messages.hpp"
#include "ranks/options.hpp"

namespace linkmatrix::ranks {

struct RoundOptions {
  bool by_node = false;        ///< whether a cell is a pair of nodes whose ranks all communicate concurrently
  bool bidirectional = false;  ///< whether a cell measures both directions, so that each unordered pair occurs once
  bool bisection = false;      ///< whether only pairs between the two halves of the nodes are measured
  Mapping mapping = Mapping::affine;
  /// by_node: participating ranks per node. Otherwise: concurrent cells between two nodes. 0: all.
  std::size_t width = 0;
};

/// Rounds of a matrix between ranks or nodes, and the rank pairs of each cell. A rank is in at most one cell of a
/// round.
///
/// Nodes are paired by a round robin schedule. Each of its rounds is repeated until all pairs of their ranks are
/// measured, and again in the reverse direction unless cells are bidirectional. Rounds inside nodes follow.
class RankRounds final : public Rounds {
 public:
  /// ranks_of: the ranks of each node.
  RankRounds(std::vector<std::vector<int>> ranks_of, const RoundOptions& options);

  std::size_t count() const override { return between_ + inside_; }
  /// Returns the cells of a round; empty if nodes have too few ranks for the round.
  Round at(std::size_t round) const override;
  /// Returns the concurrent pairs of ranks of a cell.
  std::vector<RankPair> pairs_of(const CellIndex& cell) const;
  bool is_bisection() const { return options_.bisection; }
  /// Returns the location of each row, for matchings. Ranks of a node that may communicate concurrently are in
  /// different lanes.
  EndpointGroups endpoint_groups() const;
  /// Returns whether a cell is in a round.
  bool has(std::size_t row, std::size_t column) const;

 private:
  Round between(std::size_t round) const;
  Round inside(std::size_t round) const;
  void pair_off(std::size_t from, std::size_t to, std::size_t shift, std::size_t cut, Round& out) const;
  std::size_t directions() const { return options_.bidirectional ? 1 : 2; }

  std::vector<std::vector<int>> ranks_of_;
  std::vector<std::size_t> node_of_;
  RoundOptions options_;
  std::size_t most_ranks_ = 0, width_ = 1, node_rounds_ = 0, shifts_ = 1, cuts_ = 1, between_ = 0, inside_ = 0;
};

}  // namespace linkmatrix::ranks
