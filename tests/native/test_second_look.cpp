#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "measured_matrix.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

/// 1 -> 2 is slow wherever it is looked at.
double slow_from_1_to_2(const Place& place, std::size_t) { return place == Place{1, 2} ? 5 : 10; }

TEST(SecondLook, TimesOfACellAreThoseOfTheLookThatItsValueIsOf) {
  int alone = 0;
  ScriptedSampler sampler([&](const Place& place, std::size_t at_once) {
    if (!(place == Place{1, 2})) return 10.0;
    if (at_once > 1) return 7.0;
    return ++alone == 1 ? 8.0 : 10.0;  // the first look alone is the second worst of all
  });
  const auto start = Clock::now();
  double first_look_ended = 0;
  sampler.script = [&](const Place&, const SampleRule&, Sampled&) {
    if (sampler.rounds.back().size() > 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (alone == 1) first_look_ended = seconds_since(start) + 0.001;
  };
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  ASSERT_NEAR(*result.values(1, 2), 8, 1e-9);
  EXPECT_LE(*result.ended(1, 2), first_look_ended) << "not those of the last of the three";
}

TEST(SecondLook, SaysThatATryFailedAlsoWhereOthersWent) {
  ScriptedSampler sampler(slow_from_1_to_2);
  int seen = 0;
  sampler.script = [&](const Place& place, const SampleRule&, Sampled& answer) {
    if (!(place == Place{1, 2}) || ++seen != 2) return;
    answer = {};
    answer.status = CellStatus::timeout;
    answer.why = "it did not end in time";
  };
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  EXPECT_EQ(result.status(1, 2), CellStatus::ok);
  EXPECT_TRUE(
      has_note(result, "dev1->dev2 failed in 1 of 3 measurements alone, and the others count: it did not end in time"));
}

TEST(SecondLook, ACellWhoseValueDoesNotStandHasNoSamplesEither) {
  ScriptedSampler sampler(slow_from_1_to_2);
  int seen = 0;
  sampler.script = [&](const Place& place, const SampleRule&, Sampled& answer) {
    if (!(place == Place{1, 2}) || ++seen == 1) return;
    answer = {};
    answer.status = CellStatus::error;
  };
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  ASSERT_FALSE(result.values(1, 2));
  EXPECT_TRUE(result.sampled(1, 2).empty());
  EXPECT_FALSE(result.began(1, 2) || result.ended(1, 2) || result.round(1, 2));
}

TEST(Stress, SaysThatItsCellsWereNotMeasuredAloneWhereTheTimeWasOver) {
  ScriptedBackend backend(4, at_10_gigabytes);
  const MatrixResult result =
      measured(backend, testcase("device_to_device_memcpy_write_ce_stress"), {.max_seconds = 1e-9});
  EXPECT_TRUE(result.complete());
  EXPECT_TRUE(has_note(result, "12 of 12 cells were not measured alone: the time for this matrix was over"));
}

TEST(Together, SaysThatOutliersWereNotMeasuredAloneWhereTheTimeWasOver) {
  ScriptedSampler sampler(slow_from_1_to_2);
  const MatrixResult result =
      measured(sampler, 4, {.max_seconds = 1e-9}, Deadline::never(), Metric::bandwidth, true).results.front();
  EXPECT_TRUE(has_note(result, "1 of 1 outlying cells were not measured again: the time for this matrix was over"));
}

}  // namespace
}  // namespace linkmatrix
