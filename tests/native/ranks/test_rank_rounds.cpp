#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ranks/rank_rounds.hpp"

namespace linkmatrix::ranks {
namespace {

/// Returns `count` nodes with `each` ranks; the first node has `first` ranks.
std::vector<std::vector<int>> nodes_of(std::size_t count, int each, int first) {
  std::vector<std::vector<int>> nodes(count);
  int rank = 0;
  for (std::size_t n = 0; n < count; ++n)
    for (int k = 0; k < (n == 0 ? first : each); ++k) nodes[n].push_back(rank++);
  return nodes;
}

std::size_t ranks_in(const std::vector<std::vector<int>>& nodes) {
  std::size_t all = 0;
  for (const auto& node : nodes) all += node.size();
  return all;
}

/// Returns how often each cell is measured. No rank is in two cells of a round.
std::map<std::pair<std::size_t, std::size_t>, int> measured(const RankRounds& rounds) {
  std::map<std::pair<std::size_t, std::size_t>, int> cells;
  for (std::size_t round = 0; round < rounds.count(); ++round) {
    std::set<int> busy;
    for (const CellIndex& index : rounds.at(round)) {
      ++cells[{index.row, index.column}];
      for (const RankPair& pair : rounds.pairs_of(index))
        EXPECT_TRUE(busy.insert(pair.source).second && busy.insert(pair.destination).second) << "a rank twice at once";
    }
  }
  return cells;
}

class EveryNumberOfNodes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(UpTo65, EveryNumberOfNodes, testing::Range<std::size_t>(2, 66));

TEST_P(EveryNumberOfNodes, MeetEachOtherOnceEachWay) {
  const std::size_t n = GetParam();
  const RankRounds rounds(nodes_of(n, 2, 2), {.by_node = true});
  EXPECT_EQ(rounds.count(), 2 * (n - 1 + n % 2));
  const auto cells = measured(rounds);
  EXPECT_EQ(cells.size(), n * (n - 1));
  for (const auto& [cell, times] : cells) EXPECT_EQ(times, 1);
}

TEST_P(EveryNumberOfNodes, MeetOnceWhereACellMeasuresBothWays) {
  const std::size_t n = GetParam();
  const auto cells = measured(RankRounds(nodes_of(n, 1, 1), {.by_node = true, .bidirectional = true}));
  EXPECT_EQ(cells.size(), n * (n - 1) / 2);
}

struct Shape {
  std::size_t nodes;
  int each, first;
  std::size_t width;
};
class EveryShape : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Of, EveryShape,
                         testing::Values(Shape{1, 2, 2, 0}, Shape{1, 7, 7, 0}, Shape{1, 8, 8, 1}, Shape{2, 1, 1, 0},
                                         Shape{2, 4, 4, 1}, Shape{2, 4, 4, 3}, Shape{3, 2, 5, 0}, Shape{3, 5, 2, 2},
                                         Shape{5, 3, 1, 1}, Shape{8, 4, 4, 0}, Shape{9, 4, 3, 2}));

TEST_P(EveryShape, MeasuresEveryPairOfRanksOnceEachWay) {
  const auto [count, each, first, width] = GetParam();
  const auto nodes = nodes_of(count, each, first);
  const std::size_t all = ranks_in(nodes);
  const auto cells = measured(RankRounds(nodes, {.width = width}));
  EXPECT_EQ(cells.size(), all * (all - 1));
  for (const auto& [cell, times] : cells) EXPECT_EQ(times, 1) << cell.first << "->" << cell.second;
  EXPECT_EQ(measured(RankRounds(nodes, {.bidirectional = true, .width = width})).size(), all * (all - 1) / 2);
}

TEST(RoundsOfRanks, KeepToTheirNumberBetweenTwoNodes) {
  const RankRounds rounds(nodes_of(4, 8, 8), {.width = 2});
  for (std::size_t round = 0; round < rounds.count(); ++round) {
    std::map<std::pair<std::size_t, std::size_t>, int> between;
    for (const CellIndex& index : rounds.at(round)) ++between[{index.row / 8, index.column / 8}];
    for (const auto& [pair, cells] : between) EXPECT_LE(cells, 2);
  }
}

TEST(Bisection, MeasuresOnlyBetweenTheHalvesAndAllOfThemAtOnce) {
  const RankRounds rounds(nodes_of(7, 2, 2), {.by_node = true, .bisection = true});  // the odd one is left out
  std::size_t expected = 0;
  for (std::size_t r = 0; r < 7; ++r)
    for (std::size_t c = 0; c < 7; ++c) expected += rounds.has(r, c);
  const auto cells = measured(rounds);
  EXPECT_EQ(cells.size(), expected);
  EXPECT_EQ(expected, 2u * 3 * 3);
  for (const auto& [cell, times] : cells) EXPECT_TRUE(rounds.has(cell.first, cell.second));
  EXPECT_EQ(rounds.at(0).size(), 3u);
}

TEST(Mapping, CrossedMeetsTheNextRankAndAffineItsOwnNumber) {
  const auto pairs = [](Mapping mapping) {
    return RankRounds(nodes_of(2, 4, 4), {.by_node = true, .mapping = mapping}).pairs_of({1, 0});
  };
  for (const RankPair& pair : pairs(Mapping::affine)) EXPECT_EQ(pair.source - 4, pair.destination);
  for (const RankPair& pair : pairs(Mapping::crossed)) EXPECT_EQ((pair.source + 1) % 4, pair.destination);
}

}  // namespace
}  // namespace linkmatrix::ranks
