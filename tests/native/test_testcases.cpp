#include <gtest/gtest.h>

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

// Names are what records, references and checks know test cases by.
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

}  // namespace
}  // namespace linkmatrix
