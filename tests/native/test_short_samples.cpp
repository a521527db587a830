#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/record.hpp"
#include "measured_matrix.hpp"
#include "result_facts.hpp"

namespace linkmatrix {
namespace {

bool is_memory_short(const SampleRule& rule) { return rule.transfers > 0; }

/// Returns whether a rule is for the trial of three samples, which measures their cost. Passes of 66 or 72 samples have
/// five or six.
bool is_trial(const SampleRule& rule) { return is_memory_short(rule) && rule.stop.min_samples == 3; }

TEST(ShortSamples, EachCellHasAsManyAsAskedForInPassesBesideItsOtherSamples) {
  for (const int asked : {1, 5, 20, 66}) {
    ScriptedSampler sampler(ten);
    const MatrixResult result = measured(sampler, 4, {.short_samples = asked}).results.front();
    ASSERT_TRUE(result.short_samples);
    EXPECT_EQ(result.short_samples->asked, asked);
    EXPECT_EQ(result.short_samples->passes.size(), static_cast<std::size_t>(std::min(asked, 12)));
    double ended = 0;
    for (const auto& pass : result.short_samples->passes) {
      EXPECT_GE(pass.began, ended);
      ended = pass.ended;
      EXPECT_GE(ended, pass.began);
      EXPECT_NEAR(static_cast<double>(pass.values(0, 1).size()), std::max(1.0, asked / 12.0), 0.99) << asked;
    }
    for (const std::size_t count : result.short_sample_counts()) EXPECT_EQ(count, static_cast<std::size_t>(asked));
    EXPECT_EQ(result.short_sample_counts().size(), 12u);
    EXPECT_EQ(result.samples(0, 1), 7);
    EXPECT_EQ(result.sampled(0, 1).size(), 7u);
    EXPECT_FALSE(has_note(result, "short samples"));
  }
}

TEST(ShortSamples, AreNoneUnlessAskedFor) {
  ScriptedSampler sampler(ten);
  const Record record = measured(sampler, 4);
  EXPECT_FALSE(record.results.front().short_samples);
  EXPECT_EQ(to_json(record).find("short_samples"), std::string::npos);
}

TEST(ShortSamples, PassesAreBetweenTheRounds) {
  for (const std::size_t endpoints : {2u, 4u, 8u, 16u}) {
    ScriptedSampler sampler(ten);
    std::size_t passes = 0, back_to_back = 0, most_back_to_back = 0, in_rounds = 0;
    const CellIndex first = matchings(endpoints).front().front();
    sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled&) {
      if (!is_memory_short(rule)) back_to_back = 0;
      if (rule.verify) in_rounds = passes;
      if (is_memory_short(rule) && !is_trial(rule) && cell == first)
        ++passes, most_back_to_back = std::max(most_back_to_back, ++back_to_back);
    };
    const MatrixResult result =
        measured(sampler, endpoints, {.short_samples = 72, .concurrency = Concurrency::rounds}).results.front();
    EXPECT_EQ(passes, 12u);
    EXPECT_LE(most_back_to_back, endpoints == 2 ? 7u : endpoints == 4 ? 4u : 3u) << endpoints;
    EXPECT_GE(in_rounds, endpoints == 2 ? 5u : endpoints == 4 ? 8u : 9u) << endpoints;
    EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 72u);
  }
}

TEST(ShortSamples, PassesAreBeforeAndAfterOutliersAreMeasuredAgain) {
  ScriptedSampler sampler(slow_from_1_to_2);
  std::vector<char> order;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled&) {
    const bool is_again = rule.verify && cell == CellIndex{1, 2} && sampler.rounds.back().size() == 1;
    if (is_again || is_memory_short(rule)) order.push_back(is_again ? 'a' : 's');
  };
  measured(sampler, 4, {.short_samples = 66});
  ASSERT_TRUE(std::ranges::count(order, 'a') > 0);
  EXPECT_EQ(order.front(), 's');
  EXPECT_EQ(order.back(), 's');
}

TEST(ShortSamples, AreNotComparedAndDecideNothing) {
  ScriptedSampler sampler(ten);
  sampler.script = [](const CellIndex&, const SampleRule& rule, Sampled& answer) {
    if (!is_memory_short(rule)) return;
    EXPECT_FALSE(rule.verify);
    for (Sample& sample : answer.samples) sample.whole.end *= 3;
  };
  const MatrixResult result = measured(sampler, 4, {.short_samples = 12}).results.front();
  EXPECT_EQ(result.values(0, 1), 10);
  EXPECT_TRUE(result.remeasured.empty());
  EXPECT_NEAR(short_samples(result, 0, 1).front(), 10. / 3, 1e-9);
}

TEST(ShortSamples, OfARoundThatDisturbsItselfRunInSmallerParts) {
  const Round disturbed = matchings(8).at(9);
  ScriptedSampler sampler([&](const CellIndex& cell, std::size_t at_once) {
    const bool here = std::ranges::find(disturbed, cell) != disturbed.end();
    return here && at_once > 1 ? 5.0 : 10.0;
  });
  std::map<CellIndex, std::size_t> at_once;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled&) {
    if (is_memory_short(rule)) at_once[cell] = sampler.rounds.back().size();  // of the last ones
  };
  const MatrixResult result = measured(sampler, 8, {.short_samples = 11}).results.front();
  ASSERT_TRUE(has_note(result, "smaller groups"));
  for (const auto& [cell, cells] : at_once) {
    const bool here = std::ranges::find(disturbed, cell) != disturbed.end();
    EXPECT_EQ(cells, here ? 1u : 4u);
    EXPECT_EQ(short_samples(result, cell.row, cell.column), std::vector<double>(11, 10.0));
  }
  EXPECT_EQ(at_once.size(), 56u);
  EXPECT_EQ(result.short_samples->passes.size(), 20u) << "9 were taken, and of the disturbed round 11 more";
}

TEST(ShortSamples, OfABidirectionalPairAreAtBothItsPlaces) {
  ScriptedSampler sampler(ten);
  const MatrixResult result =
      measured(sampler, 4, {.short_samples = 12}, Deadline::never(), Metric::bidirectional).results.front();
  EXPECT_EQ(short_samples(result, 0, 1).size(), 12u);
  EXPECT_EQ(short_samples(result, 0, 1), short_samples(result, 1, 0));
}

TEST(ShortSamples, ThoseThatDoNotFitAreMissingAndTheResultCountsThem) {
  ScriptedSampler sampler(ten);
  int taken = 0;
  sampler.script = [&](const CellIndex&, const SampleRule& rule, Sampled&) {
    if (!is_memory_short(rule) || is_trial(rule) || ++taken != 38) return;
    while (!rule.enough.passed()) {
    }
  };
  const Record record = measured(sampler, 4, {.max_seconds = 0.3, .short_samples = 72});
  const MatrixResult& result = record.results.front();
  const auto counts = result.short_sample_counts();
  EXPECT_EQ(*std::ranges::min_element(counts), 18u) << "three passes of 12 cells were over";
  EXPECT_EQ(*std::ranges::max_element(counts), 24u);
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  EXPECT_TRUE(has_note(result, "12 of 12 cells have fewer than 72 short samples; the smallest number is 18"));
  EXPECT_NE(to_json(record).find("\"fewest\":18"), std::string::npos);
}

TEST(ShortSamples, NoneFitWhereTheTimeIsOver) {
  ScriptedSampler sampler(ten);
  const Record record = measured(sampler, 4, {.max_seconds = 1e-9, .short_samples = 66});
  EXPECT_TRUE(record.results.front().short_samples->passes.empty());
  EXPECT_NE(to_json(record).find("\"fewest\":0"), std::string::npos);
  EXPECT_TRUE(has_note(record.results.front(), "the smallest number is 0"));
}

TEST(ShortSamples, TheDeadlineOfTheRunKeepsWhatThereIs) {
  ScriptedSampler sampler(ten);
  int taken = 0;
  sampler.script = [&](const CellIndex&, const SampleRule& rule, Sampled&) {
    if (!is_memory_short(rule) || is_trial(rule) || ++taken != 136) return;
    while (!rule.until.passed()) {
    }
  };
  const MatrixResult result =
      measured(sampler, 4, {.cell_timeout = 30, .short_samples = 72}, Deadline::in(0.3)).results.front();
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 66u) << "eleven passes of 12 cells were over";
}

TEST(ShortSamples, ACellThatFailsKeepsItsValueAndIsNotTriedAgain) {
  ScriptedSampler sampler(ten);
  int tried = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!is_memory_short(rule) || is_trial(rule) || !(cell == CellIndex{0, 1}) || ++tried < 2) return;
    answer = {.status = CellStatus::timeout, .why = "it did not finish"};
  };
  const MatrixResult result = measured(sampler, 4, {.short_samples = 72}).results.front();
  EXPECT_EQ(tried, 2);
  EXPECT_EQ(result.status(0, 1), CellStatus::ok);
  EXPECT_EQ(short_samples(result, 0, 1).size(), 6u);
  EXPECT_EQ(short_samples(result, 1, 0).size(), 72u);
  EXPECT_TRUE(has_note(result, "1 of 12 cells have fewer than 72 short samples; the smallest number is 6"));
  EXPECT_TRUE(has_note(result, "dev0->dev1: it did not finish"));
}

TEST(ShortSamples, ACellThatFailsInTheTrialIsNotTriedAgain) {
  ScriptedSampler sampler(ten);
  const CellIndex first = matchings(4).front().front();
  int tried = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!is_memory_short(rule) || !(cell == first)) return;
    ++tried;
    answer = {.status = CellStatus::timeout};
  };
  const MatrixResult result = measured(sampler, 4, {.short_samples = 72}).results.front();
  EXPECT_EQ(tried, 1);
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  EXPECT_EQ(std::ranges::count(result.short_sample_counts(), 72u), 11);
}

TEST(ShortSamples, ACellThatIsMeasuredLateHasAsManyAsTheOthers) {
  ScriptedSampler sampler(ten);
  int tried = 0;
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!rule.verify || !(cell == CellIndex{1, 2}) || ++tried > 1) return;
    answer = {.status = CellStatus::error};
  };
  const MatrixResult result = measured(sampler, 4, {.short_samples = 72}).results.front();
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  for (const std::size_t count : result.short_sample_counts()) EXPECT_EQ(count, 72u);
}

TEST(ShortSamples, OfAnEndpointThatIsLostAreMissing) {
  ScriptedSampler sampler(ten);
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!is_memory_short(rule) || (cell.row != 2 && cell.column != 2)) return;
    sampler.lose(2);
    answer = {.status = CellStatus::timeout};
  };
  const Record record = measured(sampler, 4, {.short_samples = 66});
  ASSERT_EQ(record.lost.size(), 1u);
  EXPECT_EQ(std::ranges::count(record.results.front().short_sample_counts(), 66u), 6);
}

TEST(ShortSamples, AreNotKeptOfMatricesTooLargeForThem) {
  ScriptedSampler sampler(ten);
  const MatrixResult result =
      measured(sampler, most_sampled + 2, {.short_samples = 66, .concurrency = Concurrency::rounds}).results.front();
  EXPECT_EQ(result.short_samples->asked, 66);
  EXPECT_TRUE(result.short_samples->passes.empty());
  EXPECT_TRUE(has_note(result, "no short samples"));
}

}  // namespace
}  // namespace linkmatrix
