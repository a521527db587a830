#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collective/layout.hpp"
#include "collective/testcases.hpp"

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
  for (const int rank : {1, 4, 70}) wanted.excluded.add(rank);
  int next = 0;
  for (int rank = 0; rank < 100; ++rank)
    if (!wanted.excluded.has(rank)) {
      EXPECT_EQ(member_number(wanted, rank), next++) << rank;
    }
  EXPECT_EQ(members(wanted, 100), next);
}

TEST(Subsets, LeaveOutEachRankNodeAndRail) {
  const Names ranks = numbered(6), nodes{"n1", "n1", "n2", "n2", "n3", "n3"};
  const auto by_rank = subsets_of(LeftOut::rank, ranks, nodes);
  ASSERT_EQ(by_rank.size(), 6u);
  EXPECT_EQ(by_rank[4].column, "without-gpu4");
  EXPECT_EQ(ranks_in(by_rank[4].excluded), std::vector{4});
  const auto by_node = subsets_of(LeftOut::node, ranks, nodes);
  EXPECT_EQ(columns_of(by_node), (Names{"without-n1", "without-n2", "without-n3"}));
  EXPECT_EQ(ranks_in(by_node[1].excluded), (std::vector{2, 3}));
  const auto by_rail = subsets_of(LeftOut::rail, ranks, {"n1", "n1", "n1", "n2", "n2", "n2"});
  EXPECT_EQ(columns_of(by_rail), (Names{"without-rail0", "without-rail1", "without-rail2"}));
  EXPECT_EQ(ranks_in(by_rail[2].excluded), (std::vector{2, 5}));
}

TEST(Subsets, AreNoneWhereTheyTellNothing) {
  const Names two{"n1", "n1", "n2", "n2"}, one(4, "n1");
  EXPECT_TRUE(subsets_of(LeftOut::none, numbered(4), one).empty());
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
      for (const Subset& half : halves) in.push_back(half.excluded.has(rank));
      EXPECT_TRUE(seen.insert(in).second) << rank << " of " << ranks;
    }
    for (const Subset& half : halves) EXPECT_GE(ranks - half.excluded.count(), 2) << half.column;
  }
  const auto four = subsets_of(LeftOut::half, numbered(4), Names(4, "n1"));
  EXPECT_EQ(columns_of(four), (Names{"digit0-is-0", "digit0-is-1", "digit1-is-0", "digit1-is-1"}));
  EXPECT_EQ(ranks_in(four[0].excluded), (std::vector{1, 3})) << "those of which the digit is 1";
}

Layout layout(Collective collective, std::uint64_t bytes, int ranks, ElementType type = ElementType::f32) {
  return layout_of({.collective = collective, .type = type, .bytes = bytes}, ranks);
}

// Sizes, counts and factors as nccl-tests 2.x prints them for 2 and 8 ranks (recorded, and doc/PERFORMANCE.md).
TEST(CollectiveLayout, CountsAsNcclTestsDoes) {
  EXPECT_EQ(layout(Collective::all_reduce, 1 << 20, 8).sent, 262144u);
  EXPECT_DOUBLE_EQ(layout(Collective::all_reduce, 1 << 20, 8).bus_factor, 2 * 7.0 / 8);
  EXPECT_EQ(layout(Collective::all_gather, 1 << 20, 2).part, 131072u);
  EXPECT_EQ(layout(Collective::all_gather, 1 << 20, 2).size_bytes, 1u << 20);
  EXPECT_DOUBLE_EQ(layout(Collective::reduce_scatter, 1 << 20, 8).bus_factor, 7.0 / 8);
  EXPECT_DOUBLE_EQ(layout(Collective::broadcast, 1 << 20, 8).bus_factor, 1);
  EXPECT_DOUBLE_EQ(layout(Collective::alltoall, 1 << 20, 2).bus_factor, 0.5);
  EXPECT_DOUBLE_EQ(layout(Collective::sendrecv, 1 << 20, 2).bus_factor, 1);
}

TEST(CollectiveLayout, GivesEveryRankPartsOf16Bytes) {
  for (const auto& [type, name] : Words<ElementType>::table)
    for (const int ranks : {2, 3, 7}) {
      const Layout found = layout(Collective::all_gather, 100000, ranks, type);
      EXPECT_EQ(found.part * bytes_of(type) % 16, 0u) << name;
      EXPECT_EQ(found.received, found.part * static_cast<std::uint64_t>(ranks)) << name;
      EXPECT_LE(found.size_bytes, 100000u) << name;
      EXPECT_GT(found.size_bytes + static_cast<std::uint64_t>(16 * ranks), 100000u) << name << ": no more is left out";
    }
}

TEST(CollectiveLayout, RefusesASizeThatLeavesARankWithoutAnElement) {
  EXPECT_THROW(layout(Collective::all_gather, 32, 4), BadInput);
  EXPECT_THROW(layout(Collective::all_reduce, 3, 2), BadInput);
  EXPECT_NO_THROW(layout(Collective::all_reduce, 4, 4));
}

TEST(Layout, LeavesEachRankAPartFromTheLeastBytesOn) {
  for (const auto& [collective, name] : Words<Collective>::table)
    for (const int ranks : {2, 65, 1024}) {
      CollectiveCase wanted;
      wanted.collective = collective;
      wanted.bytes = least_bytes(ranks);
      EXPECT_NO_THROW(layout_of(wanted, ranks)) << name << " of " << ranks;
    }
}

}  // namespace

}  // namespace linkmatrix
