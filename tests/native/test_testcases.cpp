#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "core/error.hpp"
#include "core/units.hpp"
#include "p2p/testcases.hpp"

namespace linkmatrix {
namespace {

std::vector<std::string> all_suites() {
  std::vector<std::string> names;
  for (const std::string& name : split(suite_names(), ',')) names.push_back(name.substr(name.find_first_not_of(' ')));
  return names;
}

// Records, references and checks identify test cases by name.
TEST(Testcases, AreThoseOfTheFileThatTheChecksRead) {
  std::ifstream file(LINKMATRIX_NATIVE_TESTS "/../../checks/testcases.json");
  EXPECT_EQ(testcases_json(), std::string(std::istreambuf_iterator<char>(file), {}))
      << "p2p_matrix --list --format json > checks/testcases.json";
}

TEST(Testcases, HaveDistinctNamesAndEveryRowFitsItsOwnAxes) {
  std::set<std::string_view> names;
  for (const TestCase& t : all_testcases()) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    const Axes axes{t.metric, t.engine, t.direction, memory_of(t), t.peer_access};
    EXPECT_EQ(axes.match(t), t.load == Load::none && !t.kernel && t.operation != Operation::visibility) << t.name;
    EXPECT_EQ(named_testcases(t.name).size(), 1u);
  }
}

TEST(Suites, AreNotEmptyAndFullHasAll) {
  for (const std::string& name : all_suites()) EXPECT_FALSE(suite(name).empty()) << name;
  EXPECT_EQ(suite("full").size(), all_testcases().size());
}

TEST(Suites, NvbandwidthHasItsThirtyFive) {
  EXPECT_EQ(suite("nvbandwidth").size(), 35u);
  EXPECT_EQ(suite("nvbandwidth").front().name, "host_to_device_memcpy_ce");
  EXPECT_EQ(suite("nvbandwidth").back().name, "device_local_copy");
}

TEST(Testcases, AreNamedOnceInARun) { EXPECT_THROW(named_testcases("device_local_copy,device_local_copy"), BadInput); }

/// The order of createTestcases in nvbandwidth.cpp of v0.8.
TEST(Testcases, HaveTheNumbersThatNvbandwidthGivesThem) {
  const auto name = [](std::string_view number) { return named_testcases(number).front().name; };
  EXPECT_EQ(name("0"), "host_to_device_memcpy_ce");
  EXPECT_EQ(name("5"), "device_to_device_memcpy_write_ce");
  EXPECT_EQ(name("16"), "host_to_device_memcpy_sm");
  EXPECT_EQ(name("33"), "device_to_device_latency_sm");
  EXPECT_EQ(name("34"), "device_local_copy");
  EXPECT_EQ(named_testcases("3,device_local_copy,0").size(), 3u);
  EXPECT_THROW(named_testcases("0,host_to_device_memcpy_ce"), BadInput) << "twice";
  for (const std::string_view unknown : {"35", "00000000000000000000000", "99999999999999999999", "-1", "1.0", "0x1"})
    EXPECT_THROW(named_testcases(unknown), BadInput) << unknown;
}

TEST(Testcases, OfAKernelOfTheirOwnAreTheRowsThatAnyKernelHas) {
  for (const TestCase& t : all_testcases()) {
    if (!t.kernel) continue;
    const std::string own = "_" + std::string(word(*t.kernel));
    ASSERT_TRUE(t.name.ends_with(own)) << t.name;
    TestCase plain = named_testcases(t.name.substr(0, t.name.size() - own.size())).front();
    EXPECT_EQ(std::tie(t.pattern, t.metric, t.operation, t.engine, t.direction, t.peer_access, t.load),
              std::tie(plain.pattern, plain.metric, plain.operation, plain.engine, plain.direction, plain.peer_access,
                       plain.load));
  }
}

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
  budget.record_duration(3);
  budget.record_duration(1);
  EXPECT_TRUE(budget.has_room(7));
  EXPECT_FALSE(budget.has_room(7.1));
}

TEST(Budget, HasNoEndWhereNoneIsSaid) {
  Budget budget{std::nullopt};
  budget.record_duration(1e6);
  EXPECT_TRUE(budget.has_room(1e6));
}

TEST(MostTellingFirst, BeginsWithEveryLinkThenTheHostThenBothWaysThenLatency) {
  const auto first = names(sorted_by_information(
      named_testcases("device_local_copy,device_to_device_latency_sm,device_to_device_bidirectional_memcpy_write_ce,"
                      "device_to_host_memcpy_ce,host_to_device_memcpy_ce,device_to_device_memcpy_write_ce")));
  const std::vector<std::string_view> wanted{
      "device_to_device_memcpy_write_ce", "host_to_device_memcpy_ce",
      "device_to_host_memcpy_ce",         "device_to_device_bidirectional_memcpy_write_ce",
      "device_to_device_latency_sm",      "device_local_copy"};
  EXPECT_EQ(first, wanted);
}

TEST(MostTellingFirst, LosesNoneAndKeepsTheOrderOfWhatTellsTheSame) {
  auto all = suite("full"), sorted = sorted_by_information(all);
  ASSERT_EQ(all.size(), sorted.size());
  auto before = names(all), after = names(sorted);
  EXPECT_LT(std::ranges::find(after, "device_to_device_memcpy_write_ce_peer_off") - after.begin(),
            std::ranges::find(after, "device_to_device_bidirectional_memcpy_write_ce_peer_off") - after.begin());
  std::ranges::sort(before);
  std::ranges::sort(after);
  EXPECT_EQ(before, after);
}

TEST(MostTellingFirst, PutsACopyBetweenRanksBeforeTheirLatency) {
  const auto first = names(sorted_by_information(suite("full")));
  EXPECT_LT(std::ranges::find(first, "rank_to_rank_bandwidth_mpi") - first.begin(),
            std::ranges::find(first, "rank_to_rank_latency_mpi") - first.begin());
}

}  // namespace

}  // namespace linkmatrix
