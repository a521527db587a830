#include <gtest/gtest.h>

#include <algorithm>

#include "ranks/node_traffic.hpp"

namespace linkmatrix::ranks {
namespace {

using Messages = std::vector<std::optional<Traffic>>;

Traffic message(double own, double counted, const std::string& adapter = "eth0", bool used = true) {
  Traffic message;
  message.sent = message.received = own;
  message.adapters = {{adapter, counted, counted, used}};
  return message;
}

/// Bytes that a node sent between two polls.
class NodeTrafficTest : public testing::Test {
 protected:
  Use sent_between(const Messages& before, const Messages& after, const std::string& node = "n1") {
    Activity first, second;
    traffic_.take(before);
    traffic_.add(first);
    whole_ = traffic_.take(after);
    traffic_.add(second);
    const Activity difference = between(first, second);
    for (const Use& use : difference.uses)
      if (use.label == node && use.of == "net_out") return use;
    return {};
  }
  NodeTraffic traffic_{{"n1", "n1", "n2"}};
  bool whole_ = false;
};

TEST_F(NodeTrafficTest, IsTheSumOfTheRanksOfANodeAndWhatTheirAdapterCounted) {
  const Use use = sent_between({message(0, 5000), message(0, 5000), message(0, 70)},
                               {message(100, 5310), message(200, 5315), message(300, 400)});
  EXPECT_EQ(use.own, 300);
  EXPECT_EQ(use.counted, 315);
  EXPECT_EQ(use.by, "eth0");
  EXPECT_TRUE(whole_);
}

TEST_F(NodeTrafficTest, HasWhatTheAdaptersCarryWhereAllOfThemSaySo) {
  const auto rated = [](const std::string& adapter, double rate) {
    Traffic one = message(0, 0, adapter);
    one.adapters.front().rate = rate;
    return one;
  };
  const Messages both{rated("mlx5_0", 50e9), rated("mlx5_1", 25e9), {}};
  EXPECT_EQ(sent_between(both, both).rate, 75e9);
  const Messages half{rated("mlx5_0", 50e9), rated("mlx5_1", 0), {}};
  EXPECT_EQ(sent_between(half, half).rate, 0);
}

TEST_F(NodeTrafficTest, OfAnAdapterThatNoRankUsesIsNotCounted) {
  const Use use = sent_between({message(0, 0), message(0, 0, "eth1", false), message(0, 0)},
                               {message(100, 100), message(0, 9000, "eth1", false), message(100, 100)});
  EXPECT_EQ(use.counted, 100);
  EXPECT_EQ(use.by, "eth0");
}

TEST_F(NodeTrafficTest, IsNotByAnAdapterThatWasOpenedAndCarriedNothing) {
  const auto rated = [](const std::string& adapter, double own, double counted) {
    Traffic one = message(own, counted, adapter);
    one.adapters.front().rate = adapter == "mlx5_0" ? 50e9 : 25e9;
    return one;
  };
  const Messages before{rated("mlx5_0", 0, 0), rated("mlx5_1", 0, 700), {}};
  const Use use = sent_between(before, {rated("mlx5_0", 1000, 2010), rated("mlx5_1", 1000, 719), {}});
  EXPECT_EQ(use.by, "mlx5_0");
  EXPECT_EQ(use.rate, 50e9) << "what carries nothing adds nothing to what they can carry";
  EXPECT_EQ(use.counted, 2029);
  const Use later = sent_between({rated("mlx5_0", 1000, 2010), rated("mlx5_1", 1000, 719), {}},
                                 {rated("mlx5_0", 1000, 2010), rated("mlx5_1", 2000, 1739), {}});
  EXPECT_EQ(later.by, "mlx5_1") << "in each look it may be another";
}

TEST_F(NodeTrafficTest, OfAnAdapterThatCountsLateIsNoAnswer) {
  const Use use = sent_between({message(0, 0), message(0, 0), message(0, 0)},
                               {message(100, 40), message(0, 40), message(100, 100)});
  EXPECT_FALSE(use.counted);
  EXPECT_FALSE(whole_);
  Activity look;
  traffic_.add(look);
  EXPECT_EQ(std::ranges::count_if(look.untold, [](const auto& one) { return one.starts_with("n1: net_out"); }), 0)
      << "nothing was moved since";
}

TEST_F(NodeTrafficTest, IsUnknownWhereARankDoesNotAnswerOrGaveUpWhatItSent) {
  EXPECT_FALSE(sent_between({message(0, 0), message(0, 0), message(0, 0)}, {message(9, 9), {}, message(9, 9)}).own);
  Traffic given_up = message(9, 99);
  given_up.known = false;
  EXPECT_FALSE(sent_between({message(9, 9), message(9, 9), message(9, 9)}, {given_up, given_up, given_up}, "n2").own);
}

TEST_F(NodeTrafficTest, SaysWhereNobodyKnowsWhichAdapterIsUsed) {
  Activity look;
  traffic_.take(Messages{message(0, 0, "eth0", false), {}, message(0, 0)});
  traffic_.add(look);
  EXPECT_EQ(look.untold.at(0), "n1: the adapter of its messages is unknown");
}

}  // namespace
}  // namespace linkmatrix::ranks
