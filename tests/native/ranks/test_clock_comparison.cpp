#include <gtest/gtest.h>

#include "ranks/pair_sample.hpp"

namespace linkmatrix::ranks {
namespace {

/// Of a step that takes 10 ms at the source, whose clock counts `rate` seconds per second, with `delay` at each end.
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
  // the destination got its core a second late, and did nothing that the source did not wait for
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
