#include <gtest/gtest.h>

#include "ranks/pair_sample.hpp"

namespace linkmatrix::ranks {
namespace {

Order order_of(Metric metric, bool same_node, int pairs = 1) {
  Order order;
  order.metric = metric;
  order.bytes = 1000;
  order.same_node = same_node;
  order.pairs = pairs;
  return order;
}

constexpr Step one_window{Step::Kind::sample, 64, 1};

StepTimes at(double start, double end) {
  StepTimes times;
  times.whole = {start, end};
  return times;
}

TEST(PairSample, LastsFromTheFirstStartToTheLastEndWhereTheClockIsOne) {
  const std::vector<PairTimes> pair{{at(100, 101), at(100.5, 101.5)}};
  const Sample sample = sample_of(order_of(Metric::bidirectional, true), one_window, pair).sample;
  EXPECT_EQ(sample.whole.start, 100);
  EXPECT_EQ(sample.whole.end, 101.5);
}

TEST(PairSample, TakesDurationsAfterACommonStartBetweenNodes) {
  const std::vector<PairTimes> pair{{at(100, 101), at(7, 9)}};  // clocks that have nothing to do with each other
  const Sample sample = sample_of(order_of(Metric::bidirectional, false), one_window, pair).sample;
  EXPECT_EQ(sample.whole.seconds(), 2);
}

TEST(PairSample, LastsFromTheFirstStartToTheLastEndOfWhatOneNodeSends) {
  // The second sender was delayed. No two of the four seconds had both pairs, and half of the time is the limit.
  const std::vector<PairTimes> pairs{{at(100, 102), {}}, {at(102, 104), {}}};
  const PairSample found = sample_of(order_of(Metric::bandwidth, false, 2), one_window, pairs);
  EXPECT_EQ(found.sample.whole.seconds(), 4) << "senders of one node share a clock";
  EXPECT_EQ(found.sample.slowest.seconds(), 2);
  EXPECT_FALSE(found.started_together);
}

TEST(PairSample, OfTwoNodesIsAsLongAsTheLongerOfBothAndEachDirectionAsItsOwnNodeSays) {
  const auto bidirectional = [](double start, double end, double received) {
    StepTimes times = at(start, end);
    times.received = {start, received};
    return times;
  };
  const std::vector<PairTimes> pairs{{bidirectional(100, 102, 101), bidirectional(7, 9, 8.5)},
                                     {bidirectional(100.05, 103, 102), bidirectional(7.05, 9.5, 9)}};
  const PairSample found = sample_of(order_of(Metric::bidirectional, false, 2), one_window, pairs);
  EXPECT_EQ(found.sample.whole.seconds(), 3);
  EXPECT_EQ(found.sample.directions[0].seconds(), 2) << "as the receivers of the second node know it";
  EXPECT_EQ(found.sample.directions[1].seconds(), 2);
  EXPECT_TRUE(found.started_together);
}

TEST(PairSample, EndsWithTheSlowestOfSeveralPairs) {
  const std::vector<PairTimes> pairs{{at(50, 51), {}}, {at(50, 53), {}}};
  const Order order = order_of(Metric::bandwidth, false, 2);
  const Sample sample = sample_of(order, one_window, pairs).sample;
  EXPECT_EQ(sample.whole.seconds(), 3);
  EXPECT_EQ(sample.slowest.seconds(), 3);
  EXPECT_EQ(bytes_of(order), 2000);
}

TEST(PairSample, IsTheMeanOfLatenciesAndHalfOfARoundTrip) {
  const std::vector<PairTimes> pairs{{at(0, 2), at(0, 5)}, {at(9, 13), at(9, 20)}};
  Order order = order_of(Metric::latency, false, 2);
  const Step step{Step::Kind::sample, 1, 10};
  EXPECT_EQ(sample_of(order, step, pairs).sample.whole.seconds(), 3);
  EXPECT_EQ(transfers_of(order, step), 20);
  order.one_sided = true;  // a put does not come back
  EXPECT_EQ(transfers_of(order, step), 10);
}

TEST(PairSample, TellsTheDirectionsApartByTheirReceivers) {
  StepTimes source = at(10, 12), destination = at(10, 12);
  source.received = {10, 12}, destination.received = {10, 11};
  const std::vector<PairTimes> pair{{source, destination}};
  const auto directions = sample_of(order_of(Metric::bidirectional, true), one_window, pair).sample.directions;
  EXPECT_EQ(directions[0].seconds(), 1);
  EXPECT_EQ(directions[1].seconds(), 2);
}

TEST(PairSample, DoesNotTellApartTheDirectionsOfShortWindows) {
  StepTimes source = at(0, 2e-4), destination = at(0, 2e-4);
  source.received = {0, 2e-4}, destination.received = {0, 1e-4};
  const std::vector<PairTimes> pair{{source, destination}};
  const Sample sample = sample_of(order_of(Metric::bidirectional, true), one_window, pair).sample;
  EXPECT_EQ(sample.directions[0].seconds(), sample.whole.seconds());
  EXPECT_EQ(sample.directions[1].seconds(), sample.whole.seconds());
}

TEST(PairSample, SaysWhenDirectionsThatDoNotWaitForEachOtherBeganApart) {
  StepTimes source = at(0, 1), destination = at(0.2, 1.2);
  source.sent = source.whole, destination.sent = destination.whole;
  const Order order = order_of(Metric::bidirectional, true);
  const std::vector<PairTimes> apart{{source, destination}};
  EXPECT_FALSE(sample_of(order, one_window, apart).started_together);
  destination.whole = destination.sent = {0.04, 5};  // slow is no reason
  const std::vector<PairTimes> together{{source, destination}};
  EXPECT_TRUE(sample_of(order, one_window, together).started_together);
}

/// Returns the times of a step of 10 ms at the source. source_rate, destination_rate: seconds per second of each clock.
/// delay: at each endpoint.
PairTimes step(double source_rate, double destination_rate, double delay = 0) {
  PairTimes times;
  times.source.own = 0.010 * source_rate, times.source.around = (0.010 + delay) * source_rate;
  times.destination.own = 0.010 * destination_rate, times.destination.around = (0.010 + delay) * destination_rate;
  return times;
}

std::string disagreement(const std::vector<PairTimes>& steps) {
  ClockComparison clocks;
  for (const PairTimes& one : steps) clocks.add({&one, 1});
  return clocks.disagreement(std::vector<RankPair>{{3, 8}});
}

TEST(ClockComparison, NamesBothRanksAndWhatTheyMeasuredWhicheverIsSlow) {
  EXPECT_EQ(disagreement({step(0.1, 1)}), "clocks disagree: rank3 measured 0.001 s, rank8 0.01 s");
  EXPECT_EQ(disagreement({step(1, 0.1)}), "clocks disagree: rank3 measured 0.01 s, rank8 0.001 s");
}

TEST(ClockComparison, AllowsFivePercent) {
  EXPECT_EQ(disagreement({step(0.96, 1)}), "");
  EXPECT_EQ(disagreement({step(1, 0.96)}), "");
  EXPECT_NE(disagreement({step(0.94, 1)}), "");
  EXPECT_NE(disagreement({step(1, 0.94)}), "");
}

TEST(ClockComparison, IsNotMisledByARankThatWaits) {
  // the destination got its core a second late, and the source waited for each of its actions
  PairTimes late = step(1, 1);
  late.destination.around += 1;
  EXPECT_EQ(disagreement({late}), "");
  late = step(1, 1);
  late.source.own += 1, late.source.around += 1, late.destination.around += 1.0001;
  EXPECT_EQ(disagreement({late}), "");
}

TEST(ClockComparison, TakesTheMedianOfTheSteps) {
  EXPECT_EQ(disagreement({step(1, 1), step(0.1, 1), step(1, 1)}), "") << "a step across a suspended machine";
  EXPECT_NE(disagreement({step(0.1, 1), step(0.1, 1, 1), step(0.1, 1)}), "") << "delays hide one step, not all";
}

TEST(ClockComparison, NamesTheWorstPairOfACell) {
  ClockComparison clocks;
  clocks.add(std::vector<PairTimes>{step(1, 1), step(0.5, 1), step(0.9, 1)});
  EXPECT_EQ(clocks.disagreement(std::vector<RankPair>{{0, 4}, {1, 5}, {2, 6}}),
            "clocks disagree: rank1 measured 0.005 s, rank5 0.01 s");
}

TEST(ClockComparison, FindsAClockThatStandsStill) { EXPECT_NE(disagreement({step(0, 1)}), ""); }

}  // namespace

}  // namespace linkmatrix::ranks
