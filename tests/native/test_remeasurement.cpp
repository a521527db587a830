#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "measured_matrix.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

TEST(Remeasurement, TimesOfACellAreThoseOfTheLookThatItsValueIsOf) {
  int alone = 0;
  ScriptedSampler sampler([&](const CellIndex& cell, std::size_t at_once) {
    if (!(cell == CellIndex{1, 2})) return 10.0;
    if (at_once > 1) return 7.0;
    return ++alone == 1 ? 8.0 : 10.0;  // the first look alone is the second worst of all
  });
  const auto start = Clock::now();
  double first_look_ended = 0;
  sampler.script = [&](const CellIndex&, const SampleRule&, Sampled&) {
    if (sampler.rounds.back().size() > 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (alone == 1) first_look_ended = seconds_since(start) + 0.001;
  };
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  ASSERT_NEAR(*result.values(1, 2), 8, 1e-9);
  EXPECT_LE(*result.ended(1, 2), first_look_ended) << "not those of the last of the three";
}

TEST(Remeasurement, SaysThatATryFailedAlsoWhereOthersWent) {
  ScriptedSampler sampler(slow_from_1_to_2);
  sampler.script = failing({1, 2}, 2, 2, {.status = CellStatus::timeout, .why = "it did not end in time"});
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  EXPECT_EQ(result.status(1, 2), CellStatus::ok);
  EXPECT_TRUE(has_note(
      result,
      "dev1->dev2 failed in 1 of 3 measurements alone; the other measurements are used: it did not end in time"));
}

TEST(Remeasurement, ACellWhoseValueDoesNotStandHasNoSamplesEither) {
  ScriptedSampler sampler(slow_from_1_to_2);
  sampler.script = failing({1, 2}, 2, always, {.status = CellStatus::error});
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  ASSERT_FALSE(result.values(1, 2));
  EXPECT_TRUE(result.sampled(1, 2).empty());
  EXPECT_FALSE(result.began(1, 2) || result.ended(1, 2) || result.round(1, 2));
}

/// Returns the matrix where 1 -> 2 has 8 GB/s in its round, then each value of `alone` in GB/s. script: may change
/// these measurements.
MatrixResult looked_at_alone(const std::vector<double>& alone,
                             const std::function<void(std::size_t look, Sampled&)>& script = {}) {
  std::size_t polls = 0;
  ScriptedSampler sampler([&](const CellIndex& cell, std::size_t at_once) {
    if (!(cell == CellIndex{1, 2})) return 10.0;
    return at_once > 1 ? 8.0 : alone.at(polls);
  });
  sampler.script = [&](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (!(cell == CellIndex{1, 2}) || sampler.rounds.back().size() > 1) return;
    if (script) script(polls, answer);
    ++polls;
  };
  return measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
}

TEST(Remeasurement, TheSecondWorstOfAllCountsAlsoWhereTheFirstWasNotTheWorst) {
  EXPECT_NEAR(*looked_at_alone({7, 9, 7.5}).values(1, 2), 7.5, 1e-9);
}

TEST(Remeasurement, WhatIsHardlyBetterIsNotCalledForgiven) {
  const MatrixResult result = looked_at_alone({8.05, 8.05, 8.05});
  EXPECT_NEAR(*result.values(1, 2), 8.05, 1e-9);
  EXPECT_EQ(result.remeasured.at(0).outcome, Outcome::reproduced);
  EXPECT_FALSE(has_note(result, "second worst"));
}

TEST(Remeasurement, WhatIsSlowAgainButLessIsNotCalledSlowOnce) {
  const MatrixResult result = looked_at_alone({9, 10, 10});
  EXPECT_NEAR(*result.values(1, 2), 9, 1e-9);
  EXPECT_TRUE(has_note(result, "the second-worst of 4 measurements is used"));
  EXPECT_FALSE(has_note(result, "once"));
}

TEST(Remeasurement, WhereATryFailedNothingIsForgiven) {
  const MatrixResult result = looked_at_alone({10, 10, 10}, [](std::size_t look, Sampled& answer) {
    if (look == 1) answer = {}, answer.status = CellStatus::error;
  });
  EXPECT_NEAR(*result.values(1, 2), 8, 1e-9);
}

TEST(Remeasurement, EndsWithTheFirstLookInWhichWrongDataArrivedAndKeepsThatOne) {
  std::size_t polls = 0;
  const MatrixResult result = looked_at_alone({9, 10, 10}, [&](std::size_t, Sampled& answer) {
    ++polls;
    answer.status = CellStatus::corrupt;
  });
  EXPECT_EQ(polls, 1u);
  EXPECT_EQ(result.status(1, 2), CellStatus::corrupt);
  EXPECT_NEAR(*result.values(1, 2), 9, 1e-9);
}

TEST(Remeasurement, OfCopiesOfWhichSomeAreMissingProvesNothing) {
  const MatrixResult result =
      looked_at_alone({10, 10, 10}, [](std::size_t, Sampled& answer) { answer.status = CellStatus::partial; });
  EXPECT_NEAR(*result.values(1, 2), 8, 1e-9);
  EXPECT_EQ(result.status(1, 2), CellStatus::ok);
  EXPECT_TRUE(result.remeasured.empty());
}

TEST(Stress, SaysThatItsCellsWereNotMeasuredAloneWhereTheTimeWasOver) {
  ScriptedBackend backend(4, at_10_gigabytes);
  const MatrixResult result =
      measured(backend, testcase("device_to_device_memcpy_write_ce_stress"), {.max_seconds = 1e-9});
  EXPECT_TRUE(result.complete());
  EXPECT_TRUE(has_note(result, "12 of 12 cells were not measured alone: the time limit of this matrix passed"));
}

TEST(Together, WhatWentWellKeepsItsValueWhenItsRoundIsTriedAgain) {
  const CellIndex failing{0, 1};
  ScriptedSampler* self = nullptr;
  const auto times = [&] {  // that the round of the cell that fails was measured
    std::size_t found = 0;
    for (std::size_t k = 0; k < self->counted.size(); ++k)
      found += self->counted[k] && std::ranges::count(self->rounds[k], failing) > 0;
    return found;
  };
  ScriptedSampler sampler([&](const CellIndex&, std::size_t) { return times() > 1 ? 9.9 : 10.0; });
  self = &sampler;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (cell == failing && rule.verify && times() == 1) answer = {}, answer.status = CellStatus::error;
  };
  const MatrixResult result = measured(sampler, 4, {}, Deadline::never(), Metric::bandwidth, true).results.front();
  EXPECT_NEAR(*result.values(0, 1), 9.9, 1e-9);
  EXPECT_NEAR(*result.values(2, 3), 10, 1e-9) << "it is of the same round";
}

TEST(Together, SaysThatOutliersWereNotMeasuredAloneWhereTheTimeWasOver) {
  ScriptedSampler sampler(slow_from_1_to_2);
  const MatrixResult result =
      measured(sampler, 4, {.max_seconds = 1e-9}, Deadline::never(), Metric::bandwidth, true).results.front();
  EXPECT_TRUE(has_note(result, "1 of 1 outlying cells were not measured again: the time limit of this matrix passed"));
}

}  // namespace
}  // namespace linkmatrix
