#include <gtest/gtest.h>

#include <algorithm>

#include "p2p/budget.hpp"

namespace linkmatrix {
namespace {

std::vector<std::string_view> names(const std::vector<TestCase>& testcases) {
  std::vector<std::string_view> out;
  std::ranges::transform(testcases, std::back_inserter(out), &TestCase::name);
  return out;
}

TEST(Budget, HasRoomForTheFirstInAnyCase) {
  Budget budget{10};
  EXPECT_TRUE(budget.has_room(1000));
}

TEST(Budget, HasRoomWhereTheLongestSoFarFits) {
  Budget budget{10};
  budget.took(3);
  budget.took(1);
  EXPECT_TRUE(budget.has_room(7));
  EXPECT_FALSE(budget.has_room(7.1));
}

TEST(Budget, HasNoEndWhereNoneIsSaid) {
  Budget budget{std::nullopt};
  budget.took(1e6);
  EXPECT_TRUE(budget.has_room(1e6));
}

TEST(MostTellingFirst, BeginsWithEveryLinkThenTheHostThenBothWaysThenLatency) {
  const auto first = names(most_telling_first(
      named_testcases("device_local_copy,device_to_device_latency_sm,device_to_device_bidirectional_memcpy_write_ce,"
                      "device_to_host_memcpy_ce,host_to_device_memcpy_ce,device_to_device_memcpy_write_ce")));
  const std::vector<std::string_view> wanted{
      "device_to_device_memcpy_write_ce", "host_to_device_memcpy_ce",
      "device_to_host_memcpy_ce",         "device_to_device_bidirectional_memcpy_write_ce",
      "device_to_device_latency_sm",      "device_local_copy"};
  EXPECT_EQ(first, wanted);
}

TEST(MostTellingFirst, LosesNoneAndKeepsTheOrderOfWhatTellsTheSame) {
  auto all = suite("full"), sorted = most_telling_first(all);
  ASSERT_EQ(all.size(), sorted.size());
  auto before = names(all), after = names(sorted);
  EXPECT_LT(std::ranges::find(after, "device_to_device_memcpy_write_ce_peer_off") - after.begin(),
            std::ranges::find(after, "device_to_device_bidirectional_memcpy_write_ce_peer_off") - after.begin());
  std::ranges::sort(before);
  std::ranges::sort(after);
  EXPECT_EQ(before, after);
}

TEST(MostTellingFirst, PutsACopyBetweenRanksBeforeTheirLatency) {
  const auto first = names(most_telling_first(suite("full")));
  EXPECT_LT(std::ranges::find(first, "rank_to_rank_bandwidth_mpi") - first.begin(),
            std::ranges::find(first, "rank_to_rank_latency_mpi") - first.begin());
}

}  // namespace
}  // namespace linkmatrix
