#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collective/layout.hpp"
#include "collective/subsets.hpp"

namespace linkmatrix {
namespace {

using Names = std::vector<std::string>;

Names columns_of(const std::vector<Subset>& subsets) {
  Names columns;
  for (const Subset& one : subsets) columns.push_back(one.column);
  return columns;
}

Names numbered(int count) {
  Names names;
  for (int i = 0; i < count; ++i) names.push_back("gpu" + std::to_string(i));
  return names;
}

std::vector<int> ranks_in(const RankSet& set) {
  std::vector<int> ranks;
  for (int rank = 0; rank < RankSet::most; ++rank)
    if (set.has(rank)) ranks.push_back(rank);
  return ranks;
}

TEST(RankSet, CountsThoseBelowARankAcrossItsWords) {
  RankSet set;
  EXPECT_TRUE(set.empty());
  for (const int rank : {0, 63, 64, 130, RankSet::most - 1}) set.add(rank);
  for (int rank = 0; rank <= RankSet::most; ++rank) {
    const auto in = ranks_in(set);
    EXPECT_EQ(set.below(rank), std::ranges::count_if(in, [rank](int one) { return one < rank; })) << rank;
  }
  EXPECT_EQ(set.count(), 5);
  EXPECT_FALSE(set.has(RankSet::most));
}

TEST(Subsets, NumberTheRanksThatAreLeftWithoutAGap) {
  CollectiveCase wanted;
  for (const int rank : {1, 4, 70}) wanted.left_out.add(rank);
  int next = 0;
  for (int rank = 0; rank < 100; ++rank)
    if (!wanted.left_out.has(rank)) {
      EXPECT_EQ(member_number(wanted, rank), next++) << rank;
    }
  EXPECT_EQ(members(wanted, 100), next);
}

TEST(Subsets, LeaveOutEachRankNodeAndRail) {
  const Names ranks = numbered(6), nodes{"n1", "n1", "n2", "n2", "n3", "n3"};
  const auto by_rank = subsets_of(LeftOut::rank, ranks, nodes);
  ASSERT_EQ(by_rank.size(), 6u);
  EXPECT_EQ(by_rank[4].column, "without-gpu4");
  EXPECT_EQ(ranks_in(by_rank[4].left_out), std::vector{4});
  const auto by_node = subsets_of(LeftOut::node, ranks, nodes);
  EXPECT_EQ(columns_of(by_node), (Names{"without-n1", "without-n2", "without-n3"}));
  EXPECT_EQ(ranks_in(by_node[1].left_out), (std::vector{2, 3}));
  const auto by_rail = subsets_of(LeftOut::rail, ranks, {"n1", "n1", "n1", "n2", "n2", "n2"});
  EXPECT_EQ(columns_of(by_rail), (Names{"without-rail0", "without-rail1", "without-rail2"}));
  EXPECT_EQ(ranks_in(by_rail[2].left_out), (std::vector{2, 5}));
}

TEST(Subsets, AreNoneWhereTheyTellNothing) {
  const Names two{"n1", "n1", "n2", "n2"}, one(4, "n1");
  EXPECT_TRUE(subsets_of(LeftOut::nobody, numbered(4), one).empty());
  EXPECT_TRUE(subsets_of(LeftOut::rank, numbered(2), {"n1", "n2"}).empty());
  EXPECT_TRUE(subsets_of(LeftOut::node, numbered(4), two).empty()) << "of two nodes nobody knows which is slow";
  EXPECT_TRUE(subsets_of(LeftOut::rail, numbered(4), two).empty()) << "of two rails neither";
  EXPECT_TRUE(subsets_of(LeftOut::rail, numbered(4), one).empty()) << "those of one node are no rails";
  EXPECT_TRUE(subsets_of(LeftOut::half, numbered(3), {"n1", "n1", "n1"}).empty());
  const Names many = numbered(RankSet::most + 1);
  EXPECT_TRUE(subsets_of(LeftOut::half, many, many).empty());
}

TEST(Subsets, HalvesTellEveryRankFromEveryOther) {
  for (const int ranks : {4, 5, 8, 13, 64, 1000}) {
    const auto halves = subsets_of(LeftOut::half, numbered(ranks), Names(static_cast<std::size_t>(ranks), "n1"));
    std::set<std::vector<bool>> seen;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<bool> in;
      for (const Subset& half : halves) in.push_back(half.left_out.has(rank));
      EXPECT_TRUE(seen.insert(in).second) << rank << " of " << ranks;
    }
    for (const Subset& half : halves) EXPECT_GE(ranks - half.left_out.count(), 2) << half.column;
  }
  const auto four = subsets_of(LeftOut::half, numbered(4), Names(4, "n1"));
  EXPECT_EQ(columns_of(four), (Names{"digit0-is-0", "digit0-is-1", "digit1-is-0", "digit1-is-1"}));
  EXPECT_EQ(ranks_in(four[0].left_out), (std::vector{1, 3})) << "those of which the digit is 1";
}

}  // namespace
}  // namespace linkmatrix
