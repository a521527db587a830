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
  EXPECT_EQ(message([] { parse_number("--target-ci", "9e9", 0.001, 100); }),
            "--target-ci '9e9': use a number from 0.001 to 100");
}

P2pOptions parse(std::vector<std::string> words) {
  words.insert(words.begin(), "p2p_matrix");
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  return parse_p2p_options(arguments);
}

TEST(Options, UnderstandBothSpellings) {
  EXPECT_EQ(parse({"--size", "4MiB"}).sizes.front(), 4 * MiB);
  EXPECT_EQ(parse({"--size=4MiB"}).sizes.front(), 4 * MiB);
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
    EXPECT_EQ(axes.match(t), t.load == Load::none && !t.kernel) << t.name;
    EXPECT_EQ(named_testcases(t.name).size(), 1u);
  }
}

TEST(Suites, AreNotEmptyAndFullHasAll) {
  for (const std::string& name : split(suite_names(), ','))
    EXPECT_FALSE(suite(name.substr(name.find_first_not_of(' '))).empty()) << name;
  EXPECT_EQ(suite("full").size(), all_testcases().size());
}

TEST(Suites, NvbandwidthHasItsThirtyFive) {
  EXPECT_EQ(suite("nvbandwidth").size(), 35u);
  EXPECT_EQ(suite("nvbandwidth").front().name, "host_to_device_memcpy_ce");
  EXPECT_EQ(suite("nvbandwidth").back().name, "device_local_copy");
}

TEST(Testcases, AreNamedOnceInARun) { EXPECT_THROW(named_testcases("device_local_copy,device_local_copy"), BadInput); }

TEST(Options, RefuseWhatContradictsItself) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--size", "1MiB", "--sweep", "1KiB:1MiB"},
                                             {"--sweep", "1MiB:1KiB"},
                                             {"--sweep", "1MiB"},
                                             {"--sweep", "1KiB:1MiB:1"},
                                             {"--sweep", "1KiB:1MiB", "--blocks", "1,2"},
                                             {"--random-sizes", "3"},
                                             {"--random-sizes", "0:1:2"},
                                             {"--threads", "33"},
                                             {"--blocks", "0"},
                                             {"--limit", "NV18"},
                                             {"--limit", "=4"},
                                             {"--host-memory", "pageable", "--blocks", "4"},
                                             {"--huge-pages", "yes"}})
    EXPECT_THROW(parse(bad), BadInput) << join(bad);
}

TEST(Options, GiveTheSizesOfASweepAndOfASeed) {
  EXPECT_EQ(parse({"--sweep", "1KiB:6KiB"}).sizes, (std::vector<std::uint64_t>{1024, 2048, 4096, 6144}));
  EXPECT_EQ(parse({"--sweep", "4:4"}).sizes, (std::vector<std::uint64_t>{4}));
  const auto sizes = parse({"--random-sizes", "50:1KiB:1MiB", "--seed", "7"}).sizes;
  EXPECT_EQ(sizes, parse({"--seed", "7", "--random-sizes", "50:1KiB:1MiB"}).sizes);
  EXPECT_NE(sizes, parse({"--random-sizes", "50:1KiB:1MiB", "--seed", "8"}).sizes);
  for (const std::uint64_t size : sizes) EXPECT_TRUE(size >= KiB && size <= MiB) << size;
}

TEST(Limits, CountNetAndNotSignallingRate) {
  EXPECT_DOUBLE_EQ(*nvlink_limit(4, 18), 450);
  EXPECT_DOUBLE_EQ(*nvlink_limit(3, 12), 300);
  EXPECT_FALSE(nvlink_limit(99, 1));
  EXPECT_NEAR(*pcie_limit(5, 16), 63.02, 0.01);
  EXPECT_FALSE(pcie_limit(0, 16));
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
