#include <gtest/gtest.h>

#include "../use_of.hpp"
#include "core/activity.hpp"
#include "ranks/core_shares.hpp"

namespace linkmatrix::ranks {
namespace {

RankFacts facts(const std::string& node, const std::string& boot, const std::string& device) {
  RankFacts rank;
  put(rank.node, node), put(rank.boot, boot), put(rank.device, device);
  return rank;
}

/// Of three ranks on two nodes, which are one system where their boots are the same.
class CoreSharesTest : public testing::Test {
 protected:
  static CoreShares shares(const std::string& boot_of_second = "b") {
    return CoreShares(
        std::vector{facts("n1", "a", "rank0"), facts("n1", "a", "rank1"), facts("n2", boot_of_second, "rank2")});
  }
  static Use rank(const std::string& label, const std::string& cores, double own, double busy) {
    return {.label = label, .of = "cpu", .counted = own, .own = own, .cores = cores, .busy = busy};
  }
  static Activity look_at(std::vector<Use> uses) {
    Activity look;
    look.uses = std::move(uses);
    return look;
  }
  static double others(const Activity& look, const std::string& label) {
    return use_of(look, label, "cpu").others.value();
  }
};

TEST_F(CoreSharesTest, OfRanksThatShareTheirCoresNoneIsAnother) {
  auto look =
      look_at({rank("n1:rank0", "0-3", 10, 35), rank("n1:rank1", "0-3", 20, 35), rank("n2:rank2", "0-3", 5, 35)});
  shares().count_others(look);
  EXPECT_EQ(others(look, "n1:rank0"), 5.0);
  EXPECT_EQ(others(look, "n2:rank2"), 30.0);
  shares("a").count_others(look);
  EXPECT_EQ(others(look, "n1:rank0"), 0.0) << "nodes of one system share its cores";
}

TEST_F(CoreSharesTest, OfARankHasWhatWasDoneOnItsOwnCores) {
  auto look = look_at({rank("n1:rank0", "0-1", 10, 14), rank("n1:rank1", "2-3", 20, 21), rank("n2:rank2", "0", 5, 5)});
  look.nodes = {
      {.node = "n1", .load = {}, .stalled = {}, .stolen = {}, .busy = {}, .own_busy = {}, .helpers = {{0, 3}}}};
  shares().count_others(look);
  EXPECT_EQ(others(look, "n1:rank0"), 1.0) << "three seconds were of the kernel";
  EXPECT_EQ(others(look, "n1:rank1"), 1.0);
}

TEST_F(CoreSharesTest, SaysNothingOfCoresThatARankHadSomeTimeOfWhichMayHaveBeenElsewhere) {
  auto look = look_at({rank("n1:rank0", "0", 10, 14), rank("n1:rank1", "0-1", 3, 15), rank("n2:rank2", "0", 5, 5)});
  shares().count_others(look);
  EXPECT_FALSE(use_of(look, "n1:rank0", "cpu").others) << "rank 1 had up to 3 s of the 4";
  EXPECT_EQ(others(look, "n1:rank1"), 2.0) << "both had what they had there";
  look.uses = {rank("n1:rank0", "0-1", 10, 14), rank("n1:rank1", "1-2", 3, 15), rank("n2:rank2", "0", 5, 5)};
  shares().count_others(look);
  EXPECT_FALSE(use_of(look, "n1:rank0", "cpu").others || use_of(look, "n1:rank1", "cpu").others);
}

TEST_F(CoreSharesTest, AThreadThatMayRunElsewhereThanItsRankIsOfTheRunWhereItWasSeen) {
  auto look = look_at({rank("n1:rank0", "0", 13, 12), rank("n1:rank1", "1", 20, 24), rank("n2:rank2", "0", 5, 5)});
  look.uses[0].roaming = {{1, 3}, {7, 1}};
  shares().count_others(look);
  EXPECT_EQ(others(look, "n1:rank0"), 3.0) << "of its 13 s four were elsewhere";
  EXPECT_EQ(others(look, "n1:rank1"), 1.0);
  EXPECT_EQ(others(look, "n2:rank2"), 0.0);
}

TEST_F(CoreSharesTest, SaysNothingWhereARankDoesNotSayHowLongItRan) {
  auto look = look_at({rank("n1:rank0", "0-3", 10, 35), rank("n2:rank2", "0-3", 5, 35)});
  shares().count_others(look);
  EXPECT_FALSE(use_of(look, "n1:rank0", "cpu").others) << "rank 1 was lost, and may still run";
  EXPECT_EQ(others(look, "n2:rank2"), 30.0);
}

}  // namespace
}  // namespace linkmatrix::ranks
