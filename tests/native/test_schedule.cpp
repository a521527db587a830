#include <gtest/gtest.h>

#include <set>

#include "core/schedule.hpp"

namespace linkmatrix {
namespace {

class RoundRobin : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(UpToSeventeen, RoundRobin, testing::Range(1, 18));

TEST_P(RoundRobin, MeetsEveryPairOnceInDisjointRounds) {
  const int n = GetParam();
  const auto rounds = round_robin(n);
  EXPECT_EQ(rounds.size(), n < 2 ? 0u : static_cast<std::size_t>(n % 2 == 0 ? n - 1 : n));
  std::set<Pair> met;
  for (const auto& round : rounds) {
    std::set<int> busy;
    for (const auto& [a, b] : round) {
      EXPECT_LT(a, b);
      EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << "an endpoint twice in a round";
      EXPECT_TRUE(met.insert({a, b}).second) << "a pair twice";
    }
    EXPECT_GE(2 * round.size() + 1, static_cast<std::size_t>(n)) << "more than one bye";
  }
  EXPECT_EQ(met.size(), static_cast<std::size_t>(n * (n - 1) / 2));
}

class LargeRoundRobin : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(UpTo512, LargeRoundRobin, testing::Values(64, 127, 128, 333, 511, 512));

TEST_P(LargeRoundRobin, MeetsEveryPairOnceInDisjointRounds) {
  const int n = GetParam();
  std::vector<bool> met(static_cast<std::size_t>(n * n), false);
  std::size_t count = 0;
  for (const auto& round : round_robin(n)) {
    std::vector<bool> busy(static_cast<std::size_t>(n), false);
    for (const auto& [a, b] : round) {
      for (const int endpoint : {a, b}) {
        ASSERT_FALSE(busy[static_cast<std::size_t>(endpoint)]) << "an endpoint twice in a round";
        busy[static_cast<std::size_t>(endpoint)] = true;
      }
      ASSERT_FALSE(met[static_cast<std::size_t>(a * n + b)]) << "a pair twice";
      met[static_cast<std::size_t>(a * n + b)] = true;
      ++count;
    }
  }
  EXPECT_EQ(count, static_cast<std::size_t>(n * (n - 1) / 2));
}

TEST_P(RoundRobin, BothWaysOfADeviceMatrixTakeTwiceItsRoundsWherePairsAreDisjoint) {
  const int n = GetParam();
  std::vector<Pair> directed;
  for (const auto& round : round_robin(n)) {
    directed.insert(directed.end(), round.begin(), round.end());
    for (const auto& [a, b] : round) directed.emplace_back(b, a);
  }
  const auto rounds = pack_rounds(directed.size(), [&](std::size_t i) {
    return std::vector{directed[i].first, directed[i].second};
  });
  EXPECT_EQ(rounds.size(), 2 * round_robin(n).size());
}

TEST(PackRounds, NeverPutsTwoUsersOfAResourceTogether) {
  const std::vector<std::vector<int>> uses{{0, 9}, {1, 9}, {2}, {0}, {1, 2}};
  const auto rounds = pack_rounds(uses.size(), [&](std::size_t i) { return uses[i]; });
  std::size_t placed = 0;
  for (const auto& round : rounds) {
    std::multiset<int> taken;
    for (const std::size_t item : round) taken.insert(uses[item].begin(), uses[item].end());
    EXPECT_EQ(taken.size(), std::set<int>(taken.begin(), taken.end()).size());
    placed += round.size();
  }
  EXPECT_EQ(placed, uses.size());
}

TEST(SplitRounds, KeepsOrderAndWidth) {
  const auto pieces = split_rounds<std::size_t>({{0, 1, 2, 3, 4}, {5}}, 2);
  EXPECT_EQ(pieces, (std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3}, {4}, {5}}));
}

}  // namespace
}  // namespace linkmatrix
