#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "core/command_line.hpp"
#include "core/error.hpp"
#include "core/limits.hpp"
#include "core/topology.hpp"
#include "core/units.hpp"
#include "p2p/options.hpp"

namespace linkmatrix {
namespace {

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const BadInput& e) {
    return e.what();
  }
  return "";
}

TEST(ParseSize, TakesBinarySuffixesAndPlainBytes) {
  EXPECT_EQ(parse_size("--size", "512MiB"), 512 * MiB);
  EXPECT_EQ(parse_size("--size", "64 KiB"), 64 * KiB);
  EXPECT_EQ(parse_size("--size", "20GiB"), 20 * GiB);  // more than 32 bits
  EXPECT_EQ(parse_size("--size", "4097"), 4097u);
}

TEST(ParseSize, RefusesEverythingElseNamingTheOption) {
  for (const char* text : {"", "0", "-1", "1.5MiB", "MiB", "12MB", "99999999999999999999", "1e6", "0x10", "9999999GiB"})
    EXPECT_NE(message([&] { parse_size("--size", text); }).find("--size"), std::string::npos) << text;
}

TEST(FormatSize, UsesTheLargestSuffixThatDivides) {
  EXPECT_EQ(format_size(512 * MiB), "512 MiB");
  EXPECT_EQ(format_size(1536), "1536 B");
}

TEST(ParseNumber, RefusesNanInfinityAndWhatIsOutOfRange) {
  for (const char* text : {"nan", "inf", "-inf", "1e400", "0", "101", "5 ", ""})
    EXPECT_FALSE(message([&] { parse_number("--target-ci", text, 0.001, 100); }).empty()) << text;
  EXPECT_DOUBLE_EQ(parse_number("--target-ci", "0.25", 0.001, 100), 0.25);
}

P2pOptions parse(std::vector<std::string> words) {
  words.insert(words.begin(), "p2p_matrix");
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  return parse_p2p_options(arguments);
}

TEST(Options, UnderstandBothSpellings) {
  EXPECT_EQ(*parse({"--size", "4MiB"}).bytes, 4 * MiB);
  EXPECT_EQ(*parse({"--size=4MiB"}).bytes, 4 * MiB);
  EXPECT_EQ(parse({"--devices", "2,5"}).devices, (std::vector<int>{2, 5}));
}

TEST(Options, NameTheNearestKnownWord) {
  EXPECT_NE(message([] { parse({"--sizes", "4"}); }).find("did you mean --size"), std::string::npos);
  EXPECT_NE(message([] {
              parse({"--testcase", "device_to_device_memcpy_writ_ce"});
            }).find("did you mean device_to_device_memcpy_write_ce"),
            std::string::npos);
  EXPECT_NE(message([] { parse({"--engine", "dma"}); }).find("ce, sm or mpi"), std::string::npos);
}

TEST(Options, RefuseContradictionsAndHalfOptions) {
  EXPECT_FALSE(message([] { parse({"--suite", "quick", "--engine", "ce"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--devices", "1,1"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--devices", "1,,2"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--size"}); }).empty());
  EXPECT_FALSE(message([] { parse({"--no-verify=1"}); }).empty());
  EXPECT_FALSE(message([] { parse({"quick"}); }).empty());
}

TEST(Testcases, HaveDistinctNamesAndEveryRowFitsItsOwnAxes) {
  std::set<std::string_view> names;
  for (const TestCase& t : all_testcases()) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    const Axes axes{t.metric, t.engine, t.direction, memory_of(t), t.peer_access};
    EXPECT_TRUE(axes.match(t)) << t.name;
    EXPECT_EQ(named_testcases(t.name).size(), 1u);
  }
}

TEST(Suites, AreNotEmptyAndFullHasAll) {
  for (const std::string& name : split(suite_names(), ','))
    EXPECT_FALSE(suite(name.substr(name.find_first_not_of(' '))).empty()) << name;
  EXPECT_EQ(suite("full").size(), all_testcases().size());
}

TEST(Limits, CountNetAndNotSignallingRate) {
  EXPECT_DOUBLE_EQ(*nvlink_limit(4, 18), 450);
  EXPECT_DOUBLE_EQ(*nvlink_limit(3, 12), 300);
  EXPECT_FALSE(nvlink_limit(99, 1));
}

TEST(ShortestPaths, CountHopsThroughOthers) {
  Matrix<bool> direct(4, 4, false);  // 0 - 1 - 2, 3 alone
  for (const auto& [a, b] : {std::pair{0, 1}, {1, 2}})
    direct(static_cast<std::size_t>(a), static_cast<std::size_t>(b)) =
        direct(static_cast<std::size_t>(b), static_cast<std::size_t>(a)) = true;
  const auto hops = shortest_paths(direct);
  EXPECT_EQ(hops(0, 1), 1);
  EXPECT_EQ(hops(0, 2), 2);
  EXPECT_EQ(hops(0, 3), 0);
  EXPECT_EQ(hops(2, 2), 0);
}

}  // namespace
}  // namespace linkmatrix
