#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "measured_matrix.hpp"

namespace linkmatrix {
namespace {

TEST(Engine, WrongDataIsFinalHoweverCleanTheNextTries) {
  ScriptedSampler sampler(slow_from_1_to_2);
  int seen = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    // a flaky link: slow, and once wrong
    if (cell == CellIndex{1, 2} && rule.verify && seen++ == 0) {
      answer.status = CellStatus::corrupt;
      answer.why = "77 wrong bytes arrived";
    }
  };
  const MatrixResult result = measured(sampler, 4).results.front();
  EXPECT_GT(seen, 1) << "it is an outlier, and was measured again";
  EXPECT_EQ(result.status(1, 2), CellStatus::corrupt);
  EXPECT_EQ(result.verified(), false);
  EXPECT_FALSE(result.complete());
  EXPECT_TRUE(has_note(result, "dev1->dev2: 77 wrong bytes arrived"));
}

TEST(Engine, WrongDataOfASecondLookOrAControlCountsToo) {
  ScriptedSampler sampler(slow_from_1_to_2);
  std::map<CellIndex, int> seen;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (rule.verify && ++seen[cell] == 2) answer.status = CellStatus::corrupt, answer.why = "3 wrong bytes arrived";
  };
  const MatrixResult result = measured(sampler, 4).results.front();
  EXPECT_EQ(result.status(1, 2), CellStatus::corrupt);
  EXPECT_GT(result.cells(CellStatus::corrupt), 1u) << "the controls";
  EXPECT_EQ(result.cells_verified, result.cells(CellStatus::ok));
}

TEST(Engine, ALostEndpointInTheSecondLookIsSaidAndWhatWasMeasuredStays) {
  ScriptedSampler sampler(slow_from_1_to_2);
  int seen = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (!(cell == CellIndex{1, 2}) || ++seen != 2) return;
    sampler.lose(1);
    answer = {.status = CellStatus::timeout, .why = "dev1 does not answer any more"};
  };
  const Record record = measured(sampler, 4, {.concurrency = Concurrency::rounds});
  ASSERT_EQ(record.lost.size(), 1u);
  EXPECT_EQ(record.lost.front().label, "dev1");
  EXPECT_EQ(record.results.front().cells(CellStatus::ok), 12u);
  EXPECT_NEAR(*record.results.front().values(1, 2), 5, 1e-9);
}

TEST(Engine, CellsOfALostEndpointAreMarkedAndNotTriedAndAllOthersMeasured) {
  ScriptedSampler sampler(ten);
  sampler.script = [&](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (cell.row != 2 && cell.column != 2) return;
    sampler.lose(2);
    answer = {.status = CellStatus::timeout};
  };
  const Record record = measured(sampler, 6);
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.cells(CellStatus::timeout), 10u);
  EXPECT_EQ(result.cells(CellStatus::ok), 20u);
  std::size_t tried = 0;
  for (const Round& round : sampler.rounds)
    tried += static_cast<std::size_t>(
        std::count_if(round.begin(), round.end(), [](const CellIndex& p) { return p.row == 2 || p.column == 2; }));
  EXPECT_LE(tried, 2u) << "once it is lost";
  ASSERT_EQ(record.lost.size(), 1u);
}

TEST(Engine, AnEndpointThatWasLostBeforeIsNamedOnce) {
  Guarded<Record> record;
  ResultStore first(record), second(record);
  first.add_lost({"gpu3", "out of memory", LossKind::memory});
  second.add_lost({"gpu3", "out of memory", LossKind::memory});
  second.add_lost({"gpu1", "it hung", LossKind::device});
  EXPECT_EQ(record.read([](const Record& r) { return r.lost.size(); }), 2u);
}

TEST(Engine, WhatIsBeyondItsTimeIsSampledOnce) {
  ScriptedSampler within(ten), beyond(ten);
  measured(within, 4);
  EXPECT_GT(*std::max_element(within.samples.begin(), within.samples.end()), 1);
  const Record record = measured(beyond, 4, {.max_seconds = 1e-9});
  EXPECT_EQ(*std::max_element(beyond.samples.begin(), beyond.samples.end()), 1);
  EXPECT_EQ(record.results.front().cells(CellStatus::ok), 12u) << "each has a value all the same";
}

TEST(Engine, WrongDataStaysWhateverIsPutThereLaterAndIsNoneThatWasVerified) {
  Guarded<Record> record;
  record.change([](Record& r) { r.results.emplace_back().set_labels({"a", "b"}, {"a", "b"}); });
  ResultStore store(record);
  const auto verified = [&] { return record.read([](const Record& r) { return r.results.back().cells_verified; }); };
  CellValue good, wrong;
  good.status = CellStatus::ok, good.verified = true;
  wrong.status = CellStatus::corrupt;
  store.put({0, 1}, good);
  store.put({1, 0}, good);
  EXPECT_EQ(verified(), 2u);
  store.put({0, 1}, wrong);
  EXPECT_EQ(verified(), 1u);
  store.put({0, 1}, good);
  EXPECT_EQ(store.status({0, 1}), CellStatus::corrupt);
  EXPECT_EQ(verified(), 1u);
}

TEST(Engine, TheDeadlineEndsSecondLooksAndLosesNothing) {
  ScriptedSampler sampler([](const CellIndex& cell, std::size_t) { return cell.row == 0 ? 5 : 10; });
  sampler.script = [&](const CellIndex&, const SampleRule& rule, Sampled& answer) {
    if (sampler.rounds.back().size() > 1) return;  // all at once in the rounds; alone only in the second look
    while (!rule.until.passed()) {
    }
    answer = {.status = CellStatus::timeout};
  };
  const auto start = Clock::now();
  const Record record = measured(sampler, 4, {.concurrency = Concurrency::rounds}, Deadline::in(0.2));
  EXPECT_LT(seconds_since(start), 10);
  EXPECT_EQ(record.results.front().cells(CellStatus::ok), 12u) << "values that were measured are not wiped";
}

TEST(Engine, ACellThatHangsHasItsOwnTimeAndTheRestGoesOn) {
  ScriptedSampler sampler(ten);
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!(cell == CellIndex{0, 1})) return;
    while (!rule.until.passed()) {
    }
    answer = {.status = CellStatus::timeout, .why = "it did not finish"};
  };
  const Record record = measured(sampler, 4, {.cell_timeout = 0.05, .concurrency = Concurrency::serial});
  EXPECT_EQ(record.results.front().status(0, 1), CellStatus::timeout);
  EXPECT_EQ(record.results.front().cells(CellStatus::ok), 11u);
  EXPECT_TRUE(has_note(record.results.front(), "dev0->dev1: it did not finish"));
}

TEST(Engine, WhatFailedOnceIsTriedOnceMore) {
  ScriptedSampler sampler(ten);
  sampler.script = failing({0, 1}, 1, 1, {.status = CellStatus::error, .why = "a message was lost"});
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::serial}).results.front();
  EXPECT_TRUE(result.complete());
  EXPECT_TRUE(has_note(result, "1 pairs failed in the first attempt, 0 of these pairs also"));
}

TEST(Engine, ACellThatFailsWheneverItIsLookedAtAgainHasNoValue) {
  ScriptedSampler sampler(slow_from_1_to_2);
  sampler.script = failing({1, 2}, 2, always, {.status = CellStatus::error, .why = "xid 79"});
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::rounds}).results.front();
  EXPECT_EQ(result.status(1, 2), CellStatus::error);
  EXPECT_FALSE(result.values(1, 2));
  EXPECT_FALSE(result.complete());
  EXPECT_TRUE(has_note(result, "dev1->dev2 failed when it was measured again: xid 79"));
}

/// A slow cell, one sampling of which is a proven error.
MatrixResult with_proven_error(int sampling, const MeasureOptions& options) {
  ScriptedSampler sampler(slow_from_1_to_2);
  int seen = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (!(cell == CellIndex{1, 2}) || seen++ != sampling) return;
    answer.status = CellStatus::error;
    answer.why = "clocks disagree";
    answer.is_proven = true;
  };
  const MatrixResult result = measured(sampler, 4, options).results.front();
  EXPECT_GT(seen, sampling);
  return result;
}

TEST(Engine, NoRetryAndNoRemeasurementReplacesAProvenError) {
  for (const Concurrency concurrency : {Concurrency::serial, Concurrency::rounds, Concurrency::automatic})
    for (const int short_samples : {0, 12})
      for (int sampling = 0; sampling < 4; ++sampling) {  // of the calibration, of the matrix, or alone
        SCOPED_TRACE(std::to_string(static_cast<int>(concurrency)) + ", sampling " + std::to_string(sampling));
        const MatrixResult result =
            with_proven_error(sampling, {.short_samples = short_samples, .concurrency = concurrency});
        EXPECT_EQ(result.status(1, 2), CellStatus::error);
        EXPECT_FALSE(result.values(1, 2));
        EXPECT_TRUE(result.sampled.empty() || result.sampled(1, 2).empty());
        EXPECT_EQ(result.cells(CellStatus::ok), 11u);
        EXPECT_TRUE(has_note(result, "dev1->dev2: clocks disagree"));
        EXPECT_FALSE(has_note(result, "failed at first"));
      }
}

TEST(Engine, AValueThatIsThereIsNotReplacedWhenTheDeadlineEndsASecondLook) {
  ScriptedSampler sampler(slow_from_1_to_2);
  sampler.script = [&](const CellIndex&, const SampleRule& rule, Sampled& answer) {
    if (sampler.rounds.back().size() > 1) return;
    while (!rule.until.passed()) {
    }
    for (Sample& sample : answer.samples) sample.whole = {0, 1};  // 1 GB/s: another rate, while all was ending
  };
  const MatrixResult result =
      measured(sampler, 4, {.concurrency = Concurrency::rounds}, Deadline::in(0.2)).results.front();
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      if (r != c) {
        EXPECT_GE(*result.values(r, c), 5);
      }
}

TEST(Engine, WrongDataIsFinalAlsoWhereTheCellHadNoValueYet) {
  ScriptedSampler sampler(ten);
  int seen = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (!(cell == CellIndex{0, 1}) || ++seen > 1) return;
    // its ranks found wrong bytes, and then one fell silent
    answer = {.status = CellStatus::corrupt, .why = "3 wrong bytes arrived"};
  };
  const MatrixResult result = measured(sampler, 4, {.concurrency = Concurrency::serial}).results.front();
  EXPECT_GT(seen, 1) << "it was tried once more, and was clean";
  EXPECT_EQ(result.status(0, 1), CellStatus::corrupt);
  EXPECT_EQ(result.cells_verified, 11u);
}

TEST(Engine, WhatFailedIsTriedAgainAsManyAtOnceAsTheCalibrationAllows) {
  // Two at once disturb each other, so all is serial; what failed must be, too.
  ScriptedSampler sampler([](const CellIndex&, std::size_t at_once) { return at_once > 1 ? 5.0 : 10.0; });
  std::map<CellIndex, int> seen;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!rule.verify || sampler.rounds.back().size() > 1 || ++seen[cell] > 1) return;
    answer = {.status = CellStatus::error, .why = "a message was lost"};
  };
  const MatrixResult result = measured(sampler, 4).results.front();
  EXPECT_TRUE(result.complete());
  for (const auto& value : result.values) EXPECT_NEAR(value.value_or(10), 10, 1e-9);
}

TEST(Engine, SaysWhereOneWayEndsBeforeTheOther) {
  ScriptedSampler sampler(ten);
  sampler.script = [](const CellIndex&, const SampleRule&, Sampled& answer) {
    for (Sample& sample : answer.samples) sample.directions = {Span{0, 1}, Span{0, 0.7}}, sample.whole = {0, 1};
  };
  EXPECT_TRUE(
      has_note(measured(sampler, 2, {}, Deadline::never(), Metric::bidirectional).results.front(),
               "one direction ended before the other direction; the sum of both directions may be too high: dev0->dev1 "
               "after 70 %"));
}

TEST(Engine, FewerThanSixSamplesAreNeverCalledConverged) {
  for (const int samples : {1, 3, 5}) {
    ScriptedSampler sampler(ten);
    const MatrixResult result =
        measured(sampler, 3, {.stop = {.min_samples = samples, .max_samples = samples}}).results.front();
    for (const auto& converged : result.converged) EXPECT_NE(converged, true) << samples;
    EXPECT_TRUE(has_note(result, "too few for an interval of the median"));
  }
  ScriptedSampler sampler(ten);
  const MatrixResult result = measured(sampler, 3).results.front();
  EXPECT_EQ(result.converged(0, 1), true);
}

TEST(Engine, OneDirectionIsThatOfTheSamplesAndOfItsOwnStartAndEnd) {
  ScriptedSampler sampler(ten);
  sampler.script = [](const CellIndex&, const SampleRule&, Sampled& answer) {
    for (Sample& sample : answer.samples) {
      sample.whole = {0, 2};
      sample.directions = {Span{0, 2}, Span{0.5, 1.5}};
    }
  };
  const MatrixResult result = measured(sampler, 2, {}, Deadline::never(), Metric::bidirectional).results.front();
  EXPECT_NEAR(*result.values(0, 1), 0.5, 1e-9);
  const Values& each = result.parts.at("one_direction").values;
  EXPECT_NEAR(std::min(*each(0, 1), *each(1, 0)), 0.25, 1e-9);
  EXPECT_NEAR(std::max(*each(0, 1), *each(1, 0)), 0.5, 1e-9) << "a slow direction does not hide the other's rate";
}

TEST(Engine, SaysWhereALoadEndedEarly) {
  ScriptedSampler sampler(ten);
  sampler.script = [](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (cell == CellIndex{0, 1}) answer.samples.front().loaded_share = 0.6;
  };
  EXPECT_TRUE(has_note(measured(sampler, 2).results.front(),
                       "the load of a cell ended early; the value under load may be too high: dev0->dev1 after 60 %"));
}

TEST(Engine, KeepsWhenAndInWhichRoundACellWasMeasuredAndEverySample) {
  ScriptedSampler sampler(ten);
  const MatrixResult result = measured(sampler, 4).results.front();
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      if (r == c) continue;
      EXPECT_LT(result.round(r, c).value(), 6u);
      EXPECT_GE(result.ended(r, c).value(), result.began(r, c).value());
      EXPECT_EQ(result.sampled(r, c).size(), static_cast<std::size_t>(result.samples(r, c).value()));
    }
}

TEST(Engine, KeepsTheRoundInWhichTheDeadlineCame) {
  ScriptedSampler sampler(ten);
  sampler.script = [&](const CellIndex&, const SampleRule& rule, Sampled&) {
    while (sampler.rounds.size() == 4 && !rule.until.passed()) {
    }
  };
  const MatrixResult result =
      measured(sampler, 4, {.concurrency = Concurrency::rounds}, Deadline::in(0.2)).results.front();
  const Round last = matchings(4).at(3);
  for (const CellIndex& cell : last) EXPECT_EQ(result.round(cell.row, cell.column), 3u);
}

}  // namespace
}  // namespace linkmatrix
