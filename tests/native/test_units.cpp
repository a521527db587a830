#include <gtest/gtest.h>

#include "core/error.hpp"
#include "core/limits.hpp"
#include "core/topology.hpp"
#include "core/units.hpp"
#include "parsed_options.hpp"

namespace linkmatrix {
namespace {

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

TEST(Limits, CountNetAndNotSignallingRate) {
  EXPECT_DOUBLE_EQ(nvlink_kind({}, {9, 0})->net * 18, 450);
  EXPECT_DOUBLE_EQ(nvlink_kind({}, {8, 0})->net * 12, 300);
  EXPECT_EQ(nvlink_kind({}, {99, 0}), nullptr);
  EXPECT_NEAR(*pcie_limit(5, 16), 63.02, 0.01);
  EXPECT_FALSE(pcie_limit(0, 16));
}

TEST(Limits, TellLinksOfOneMajorCapabilityApart) {
  EXPECT_DOUBLE_EQ(nvlink_kind({}, {8, 6})->net * 4, 56.25);  // A40, A6000: not four links of an A100
  EXPECT_EQ(nvlink_kind({}, {8, 9}), nullptr);                // L40: none
  EXPECT_EQ(nvlink_kind({}, {7, 2}), nullptr);                // Xavier: none
  EXPECT_EQ(nvlink_kind({}, {12, 0}), nullptr);               // RTX 5090: none
}

TEST(Limits, BelieveTheLineRateBeforeTheCapability) {
  EXPECT_DOUBLE_EQ(nvlink_kind(26.562, {8, 0})->net, 25);
  EXPECT_EQ(nvlink_kind(26.562, {8, 0})->version, 4);
  EXPECT_EQ(nvlink_kind(25.781, {99, 0})->version, 2);
  EXPECT_EQ(nvlink_kind(25.0, {8, 0})->version, 3);
  EXPECT_EQ(nvlink_kind(14.062, {8, 0})->net, 14.0625);
  EXPECT_DOUBLE_EQ(nvlink_kind(53.125, {10, 0})->net, 50);
  EXPECT_EQ(nvlink_kind(1.0, {9, 0})->version, 4) << "a rate of no kind: the capability says";
}

TEST(Limits, KnowTheLinkBetweenCpuAndGpuOfOnePackage) {
  EXPECT_DOUBLE_EQ(chip_link({9, 0})->net, 450);
  EXPECT_DOUBLE_EQ(chip_link({10, 0})->net, 450);
  EXPECT_DOUBLE_EQ(chip_link({12, 1})->net, 300);
  EXPECT_EQ(chip_link({8, 0}), nullptr);
  EXPECT_NE(limits_text().find("NVLink-C2C"), std::string::npos);
}

TEST(Limits, KnowBlackwellPcie6AndAdaptersOf800Gigabits) {
  EXPECT_NEAR(nvlink_kind(53.125, {10, 3})->ce.value() * 18, 798.0, 0.1);
  EXPECT_DOUBLE_EQ(pcie_limit(6, 16).value(), 118);
  EXPECT_LT(pcie_limit(5, 16).value(), 800 / 8.0);
  EXPECT_NE(limits_text().find("PCIe 6       8.000  7.375        -   118.00            -"), std::string::npos);
  EXPECT_NE(limits_text().find("XDR       800  100.0"), std::string::npos);
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
