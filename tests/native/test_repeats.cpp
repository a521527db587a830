#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "device/repeats.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

using Times = std::vector<double>;
using Repeats = std::vector<int>;

TEST(Repeats, AreTheSameWhereAllTakeAsLong) {
  EXPECT_EQ(balanced_repeats(Times{1, 1, 1}, 2), (Repeats{2, 2, 2}));
  EXPECT_EQ(balanced_repeats(Times{1, 1.02}, 1), (Repeats{1, 1}));
}

TEST(Repeats, AreAsManyAsCoverTheSlowest) {
  EXPECT_EQ(balanced_repeats(Times{1, 3}, 1), (Repeats{3, 1}));
  EXPECT_EQ(balanced_repeats(Times{1, 1.2}, 1), (Repeats{6, 5})) << "not 1 and 1, of which one ends after 83 %";
  for (const double ratio : {1.1, 1.43, 1.7, 2.3, 7.7}) {
    const Repeats repeats = balanced_repeats(Times{1e-4, 1e-4 * ratio}, 2);
    EXPECT_NEAR(repeats[0] / (repeats[1] * ratio), 1, 0.04) << ratio;
    EXPECT_GE(repeats[1], 2);
  }
}

TEST(Repeats, OfLargeCopiesCostNoSecondsForAFewPercent) {
  EXPECT_EQ(balanced_repeats(Times{0.0102, 0.011}, 1), (Repeats{1, 1})) << "13 and 14 would take 0.14 s a sample";
  EXPECT_EQ(balanced_repeats(Times{0.0055, 0.011}, 1), (Repeats{2, 1}));
}

TEST(Repeats, EndWhereAGateCannotHoldMore) {
  const Repeats repeats = balanced_repeats(Times{1, 1000}, 1);
  EXPECT_EQ(repeats, (Repeats{100, 1}));
}

TEST(Repeats, AreFoundAnewWhereTheFirstTransferWasSlowerThanAllOthers) {
  // 45 µs, and 40 times as long before the path is warm.
  ScriptedBackend backend(2, [](const Copy&, std::size_t) { return 45e-6; });
  std::map<int, int> seen;
  double shortest = 1;
  backend.timing = [&](std::span<const Copy> copies, Timeline& timeline) {
    const Copy& copy = copies.front();
    CopyTime& time = timeline.copies.front();
    if (seen[copy.source]++ == 0) time.span.end *= 40;
    if (seen[copy.source] > 3) shortest = std::min(shortest, time.span.seconds());
  };
  const Plan plan = make_plan(testcase("device_to_device_memcpy_write_ce"), backend, {.bytes = 16 * MiB});
  const MatrixResult result = measured(backend, plan, {.concurrency = Concurrency::rounds});
  EXPECT_GE(shortest, 0.0025) << "a sample is long for the clock that times it";
  EXPECT_EQ(result.samples(0, 1), 7);
}

TEST(Repeats, OfCopiesInTurnAreThoseThatTheHostsClockNeeds) {
  const std::vector<Copy> one(1), both(2);
  EXPECT_EQ(repeats_for(1e-5, one, Timing::in_turn), 50) << "0.5 ms of a clock that ticks every 0.02 us";
  EXPECT_EQ(repeats_for(1e-5, one, Timing::gate), 100) << "2.5 ms would be 250: more than a gate holds";
  EXPECT_EQ(repeats_for(1e-3, both, Timing::gate), 5);
  EXPECT_EQ(repeats_for(1e-3, both, Timing::in_turn), 1);
}

TEST(Repeats, OfAVisibilityTestAreTenThousandRoundsInSevenSamples) {
  std::vector<Copy> one(1);
  one.front().operation = Operation::visibility;
  const int rounds = 7 * accesses_per_repeat * repeats_for(5e-6, one, Timing::gate);
  EXPECT_GE(rounds, 9'500) << "of 5 us, as between two H200";
  EXPECT_LE(14 * rounds * 5e-6, 0.9) << "14 rounds of pairs are all pairs of 8 GPUs: under a second";
  EXPECT_EQ(repeats_for(1e-3, one, Timing::gate), 1) << "64 rounds, however slow they are";
}

TEST(Repeats, OfBothWaysInTurnAreFiveTurns) {
  ScriptedBackend backend(2, [](const Copy&, std::size_t) { return 2e-3; });
  int turns = 0;
  backend.timing = [&](std::span<const Copy> copies, Timeline& timeline) {
    timeline.timing = Timing::in_turn;
    turns = copies.front().repeats;
  };
  const Plan plan =
      make_plan(testcase("device_to_device_bidirectional_memcpy_write_ce_peer_off"), backend, {.bytes = MiB});
  measured(backend, plan, {.concurrency = Concurrency::rounds});
  EXPECT_EQ(turns, 5) << "of the first and the last, one way has less company";
}

TEST(BothWays, AreBusyOverTheSameTimeWhereOneIsSlower) {
  // As between host memory and all devices: the reverse direction takes 10/7 of the time.
  ScriptedBackend backend(
      2, [](const Copy& copy, std::size_t n) { return at_10_gigabytes(copy, n) * (copy.source == 1 ? 10.0 / 7 : 1); });
  const MatrixResult result = measured(backend, bidirectional_write);
  EXPECT_NEAR(*result.values(0, 1), 17, 0.04 * 17) << "twice the slower one would be 14";
  EXPECT_NEAR(*result.parts.at("one_direction").values(0, 1), 10, 1e-6);
  EXPECT_NEAR(*result.parts.at("one_direction").values(1, 0), 7, 1e-6);
  EXPECT_FALSE(has_note(result, "one direction ended before the other"));
}

TEST(BothWays, AreBalancedByTheRatesThatTheyHaveWhileBothRun) {
  // The slower copy runs alone at the end of the first measurement, and is faster then: 15 instead of 20 ms each.
  ScriptedBackend backend(2, at_10_gigabytes);
  const double there = 0.01, back = 0.02, back_alone = 0.0125;
  backend.timing = [&](std::span<const Copy> copies, Timeline& timeline) {
    if (copies.size() != 2) return;
    const std::size_t slow = copies[0].source == 1 ? 0 : 1, fast = 1 - slow;
    const double busy = there * copies[fast].repeats;
    const double left = std::max(0.0, copies[slow].repeats - busy / back);
    timeline.copies[fast].span = {0, busy};
    timeline.copies[slow].span = {0, std::min(busy, back * copies[slow].repeats) + left * back_alone};
  };
  const MatrixResult result = measured(backend, bidirectional_write);
  const double bytes = 100 * MiB * 1e-9;
  EXPECT_NEAR(*result.parts.at("one_direction").values(0, 1), bytes / there, 0.01 * bytes / there);
  EXPECT_NEAR(*result.parts.at("one_direction").values(1, 0), bytes / back, 0.05 * bytes / back);
  EXPECT_FALSE(has_note(result, "one direction ended before the other"));
}

TEST(BothWays, OfASymmetricLinkCostNoFurtherLook) {
  ScriptedBackend backend(2, at_10_gigabytes);
  measured(backend, make_plan(bidirectional_write, backend, {.bytes = 100 * MiB}),
           {.concurrency = Concurrency::rounds});
  EXPECT_EQ(backend.runs, 1 + 7) << "one to find the repeats, and the samples";
}

TEST(Stress, OfLargeCopiesIsRepeatedUntilItCoversTheSlowest) {
  // A copy of 10 ms is long enough alone; of one that takes 12 ms, it covers 83 %.
  ScriptedBackend backend(4, slow_from_1_to_2_by(1.2));
  int most = 0;
  backend.before_copies = [&](std::span<const Copy> copies) {
    for (const Copy& copy : copies) most = std::max(most, copy.repeats);
  };
  const MatrixResult result = measured(backend, testcase("device_to_device_memcpy_write_ce_stress"));
  EXPECT_TRUE(result.complete());
  EXPECT_FALSE(has_note(result, "ended early"));
  EXPECT_EQ(most, 6);
}

}  // namespace
}  // namespace linkmatrix
