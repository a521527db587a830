#include <gtest/gtest.h>

#include <set>

#include "simulated_network.hpp"

namespace linkmatrix {
namespace {

/// `count` nodes of `each` endpoints, `width` of which share a lane.
EndpointGroups of_nodes(std::size_t count, std::size_t each, std::size_t width) {
  EndpointGroups groups;
  for (std::size_t k = 0; k < count * each; ++k) {
    groups.node.push_back(k / each);
    groups.lane.push_back(k % each / width);
  }
  return groups;
}

std::set<std::size_t> members(const std::vector<MatchingGenerator::Pair>& pairs) {
  std::set<std::size_t> found;
  for (const auto& [a, b] : pairs) {
    EXPECT_TRUE(found.insert(a).second) << a << " is in two pairs";
    EXPECT_TRUE(found.insert(b).second) << b << " is in two pairs";
  }
  return found;
}

class MatchingsOfEndpoints : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Of, MatchingsOfEndpoints, testing::Values(8, 9, 16, 63, 64, 65, 1024));

TEST_P(MatchingsOfEndpoints, HaveEverybodyOnceAndNoPairMeetsTwiceWhileThereAreOthers) {
  const std::size_t n = GetParam();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    MatchingGenerator generator(apart(n), seed);
    std::set<MatchingGenerator::Pair> met;
    std::vector<std::size_t> times(n);
    for (int round = 0; round < 4; ++round) {
      std::vector<bool> taken(n);
      const auto pairs = generator.pair_rest(taken);
      ASSERT_EQ(pairs.size(), n / 2);
      for (const std::size_t one : members(pairs)) ++times[one];
      for (const auto& [a, b] : pairs) EXPECT_TRUE(met.insert({std::min(a, b), std::max(a, b)}).second);
    }
    for (const std::size_t count : times) EXPECT_GE(count, 3u) << "nobody is left out twice while others never were";
  }
}

TEST(MatchingsOfEndpoints, AreTheSameOfTheSameSeedAndOthersOfAnother) {
  const auto drawn = [](std::uint64_t seed) {
    MatchingGenerator generator(apart(64), seed);
    std::vector<bool> taken(64);
    return generator.pair_rest(taken);
  };
  EXPECT_EQ(drawn(5), drawn(5));
  EXPECT_NE(drawn(5), drawn(6));
}

TEST(MatchingsOfEndpoints, ArePairsOfDifferentNodesAndOneLane) {
  const EndpointGroups groups = of_nodes(6, 8, 4);
  MatchingGenerator generator(groups, 3);
  for (int round = 0; round < 6; ++round) {
    std::vector<bool> taken(groups.node.size());
    const auto pairs = generator.pair_rest(taken);
    EXPECT_EQ(members(pairs).size(), groups.node.size());
    for (const auto& [a, b] : pairs) {
      EXPECT_NE(groups.node[a], groups.node[b]);
      EXPECT_EQ(groups.lane[a], groups.lane[b]);
    }
  }
}

TEST(MatchingsOfEndpoints, GiveSuspectsGoodPartnersThatTheyHaveNotMet) {
  MatchingGenerator generator(apart(16), 1);
  std::vector<bool> good(16, true);
  good[3] = good[4] = false;
  std::set<std::size_t> partners;
  for (int round = 0; round < 6; ++round) {
    std::vector<bool> taken(16);
    taken[7] = true;  // takes no part
    const auto pairs = generator.pair_with_good({3, 4, 7}, good, taken);
    ASSERT_EQ(pairs.size(), 2u);
    for (const auto& [one, partner] : pairs) EXPECT_TRUE(good[partner] && partner != 7);
    EXPECT_TRUE(partners.insert(pairs.front().second).second);
    EXPECT_FALSE(members(generator.pair_rest(taken)).contains(3)) << "who has a partner gets no other";
  }
}

TEST(MatchingsOfEndpoints, RatherRepeatAPairThanLeaveTwoAlone) {
  MatchingGenerator generator(apart(2), 1);
  for (int round = 0; round < 3; ++round) {
    std::vector<bool> taken(2);
    EXPECT_EQ(generator.pair_rest(taken).size(), 1u);
  }
}

TEST(MatchingsOfEndpoints, OfNobodyAreEmpty) {
  MatchingGenerator generator(apart(4), 1);
  std::vector<bool> taken(4, true);
  EXPECT_TRUE(generator.pair_rest(taken).empty());
  EXPECT_TRUE(generator.pair_with_good({0}, std::vector<bool>(4, true), taken).empty());
}

}  // namespace
}  // namespace linkmatrix
