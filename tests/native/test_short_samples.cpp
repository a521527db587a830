#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/record.hpp"
#include "measured_matrix.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

bool is_short(const SampleRule& rule) { return rule.transfers > 0; }

/// All short samples of a cell, in the order of time.
std::vector<double> short_samples(const MatrixResult& result, std::size_t row, std::size_t column) {
  std::vector<double> all;
  for (const auto& pass : result.short_samples->passes)
    all.insert(all.end(), pass.values(row, column).begin(), pass.values(row, column).end());
  return all;
}

/// How many of a cell are worse than nine tenths of their median.
std::ptrdiff_t slow_ones(const MatrixResult& result, std::size_t row, std::size_t column) {
  const std::vector<double> all = short_samples(result, row, column);
  const double middle = median(all);
  const bool is_latency = result.metric == Metric::latency;
  return std::ranges::count_if(all, [&](double v) { return is_latency ? v > middle / 0.9 : v < 0.9 * middle; });
}

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

TEST(ShortSamples, PassesAreBeforeAndAfterOutliersAreMeasuredAgain) {
  ScriptedSampler sampler([](const Place& place, std::size_t) { return place == Place{1, 2} ? 5 : 10; });
  std::vector<char> order;
  sampler.script = [&](const Place& place, const SampleRule& rule, Sampled&) {
    const bool is_again = rule.verify && place == Place{1, 2} && sampler.rounds.back().size() == 1;
    if (is_again || is_short(rule)) order.push_back(is_again ? 'a' : 's');
  };
  measured(sampler, 4, {.short_samples = 66});
  ASSERT_TRUE(std::ranges::count(order, 'a') > 0);
  EXPECT_EQ(order.front(), 's');
  EXPECT_EQ(order.back(), 's');
}

TEST(ShortSamples, AreNotComparedAndDecideNothing) {
  ScriptedSampler sampler(ten);
  sampler.script = [](const Place&, const SampleRule& rule, Sampled& answer) {
    if (!is_short(rule)) return;
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
  ScriptedSampler sampler([&](const Place& place, std::size_t at_once) {
    const bool here = std::ranges::find(disturbed, place) != disturbed.end();
    return here && at_once > 1 ? 5.0 : 10.0;
  });
  std::map<Place, std::size_t> at_once;
  sampler.script = [&](const Place& place, const SampleRule& rule, Sampled&) {
    if (is_short(rule)) at_once[place] = std::max(at_once[place], sampler.rounds.back().size());
  };
  const MatrixResult result = measured(sampler, 8, {.short_samples = 11}).results.front();
  ASSERT_TRUE(has_note(result, "smaller parts"));
  for (const auto& [place, cells] : at_once) {
    const bool here = std::ranges::find(disturbed, place) != disturbed.end();
    EXPECT_EQ(cells, here ? 1u : 4u);
    EXPECT_EQ(short_samples(result, place.row, place.column), std::vector<double>(11, 10.0));
  }
  EXPECT_EQ(at_once.size(), 56u);
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
  sampler.script = [&](const Place&, const SampleRule& rule, Sampled&) {
    if (!is_short(rule) || ++taken != 40) return;
    while (!rule.enough.passed()) {
    }
  };
  const Record record = measured(sampler, 4, {.max_seconds = 0.3, .short_samples = 72});
  const MatrixResult& result = record.results.front();
  const auto counts = result.short_sample_counts();
  EXPECT_EQ(*std::ranges::min_element(counts), 18u) << "three passes of 12 cells were over";
  EXPECT_EQ(*std::ranges::max_element(counts), 24u);
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  EXPECT_TRUE(has_note(result, "12 of 12 cells have fewer than 72 short samples, the fewest 18"));
  EXPECT_NE(to_json(record).find("\"fewest\":18"), std::string::npos);
}

TEST(ShortSamples, NoneFitWhereTheTimeIsOver) {
  ScriptedSampler sampler(ten);
  const Record record = measured(sampler, 4, {.max_seconds = 1e-9, .short_samples = 66});
  EXPECT_TRUE(record.results.front().short_samples->passes.empty());
  EXPECT_NE(to_json(record).find("\"fewest\":0"), std::string::npos);
  EXPECT_TRUE(has_note(record.results.front(), "the fewest 0"));
}

TEST(ShortSamples, TheDeadlineOfTheRunKeepsWhatThereIs) {
  ScriptedSampler sampler(ten);
  int taken = 0;
  sampler.script = [&](const Place&, const SampleRule& rule, Sampled&) {
    if (!is_short(rule) || ++taken != 40) return;
    while (!rule.until.passed()) {
    }
  };
  const MatrixResult result =
      measured(sampler, 4, {.cell_timeout = 30, .short_samples = 72}, Deadline::in(0.3)).results.front();
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 18u);
}

TEST(ShortSamples, ACellThatFailsKeepsItsValueAndIsNotTriedAgain) {
  ScriptedSampler sampler(ten);
  int tried = 0;
  sampler.script = [&](const Place& place, const SampleRule& rule, Sampled& answer) {
    if (!is_short(rule) || !(place == Place{0, 1}) || ++tried < 2) return;
    answer = {};
    answer.status = CellStatus::timeout;
    answer.why = "it did not finish";
  };
  const MatrixResult result = measured(sampler, 4, {.short_samples = 72}).results.front();
  EXPECT_EQ(tried, 2);
  EXPECT_EQ(result.status(0, 1), CellStatus::ok);
  EXPECT_EQ(short_samples(result, 0, 1).size(), 6u);
  EXPECT_EQ(short_samples(result, 1, 0).size(), 72u);
  EXPECT_TRUE(has_note(result, "1 of 12 cells have fewer than 72 short samples, the fewest 6"));
  EXPECT_TRUE(has_note(result, "dev0->dev1: it did not finish"));
}

TEST(ShortSamples, OfAnEndpointThatIsLostAreMissing) {
  ScriptedSampler sampler(ten);
  sampler.script = [&](const Place& place, const SampleRule& rule, Sampled& answer) {
    if (!is_short(rule) || (place.row != 2 && place.column != 2)) return;
    sampler.lose(2);
    answer = {};
    answer.status = CellStatus::timeout;
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

TEST(ShortSamples, OfCopiesAreSmallerAndNoneFitsACache) {
  for (const std::uint64_t bytes : {MiB, 8 * MiB, 64 * MiB, 512 * MiB}) {
    ScriptedBackend backend(2, at_10_gigabytes);
    const MatrixResult result = measured(backend, make_plan(one_way, backend, {.bytes = bytes}), {.short_samples = 66});
    EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 66u);
    EXPECT_EQ(result.short_samples->bytes, std::min(bytes, 8 * MiB));
    EXPECT_EQ(result.short_samples->transfers, 1);
    EXPECT_NEAR(short_samples(result, 0, 1).front(), 10, 1e-9);
  }
}

TEST(ShortSamples, GoOnThroughTheBufferSoThatNoneFindsItsBytesInACache) {
  ScriptedBackend backend(2, at_10_gigabytes);
  std::vector<std::uint64_t> offsets;
  backend.before_copies = [&](std::span<const Copy> copies) {
    if (copies.front().bytes == 8 * MiB) offsets.push_back(copies.front().offset);
  };
  MeasureOptions options{.short_samples = 66};
  options.fit = false;
  measured(backend, make_plan(one_way, backend, {.bytes = 256 * MiB, .offset = 4096}), options);
  ASSERT_GT(offsets.size(), 132u);
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    EXPECT_EQ(offsets[k] % (8 * MiB), 4096u);
    EXPECT_LE(offsets[k], 248 * MiB + 4096);
    EXPECT_EQ(offsets[k + 1], offsets[k] == 248 * MiB + 4096 ? 4096 : offsets[k] + 8 * MiB);
  }
}

TEST(ShortSamples, OfSmallCopiesAndLatenciesAreSeveralTransfers) {
  ScriptedBackend backend(2, [](const Copy& copy, std::size_t) { return copy.is_chain() ? 64e-6 : 2e-6; });
  const MatrixResult copies = measured(backend, make_plan(one_way, backend, {.bytes = 4096}), {.short_samples = 66});
  EXPECT_EQ(copies.short_samples->bytes, 4096u);
  EXPECT_NEAR(copies.short_samples->transfers, 100, 1);
  const MatrixResult loads = measured(
      backend, make_plan(testcase("device_to_device_latency_sm"), backend, {.bytes = MiB}), {.short_samples = 66});
  EXPECT_GT(loads.short_samples->transfers, 1);
  EXPECT_EQ(std::ranges::min(loads.short_sample_counts()), 66u);
}

TEST(ShortSamples, OfBothDirectionsAndUnderLoadAreTakenToo) {
  for (const char* name : {"device_to_device_bidirectional_memcpy_write_ce", "all_to_one_write_ce",
                           "host_device_latency_sm", "host_to_device_bidirectional_memcpy_ce"}) {
    ScriptedBackend backend(3, at_10_gigabytes);
    backend.add_host_memory();
    const MatrixResult result =
        measured(backend, make_plan(testcase(name), backend, {.bytes = 512 * MiB}), {.short_samples = 66});
    EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 66u) << name;
    EXPECT_EQ(result.complete(), true) << name;
  }
}

TEST(ShortSamples, ShowALinkThatLosesHalfInATenthOfItsSamples) {
  for (const auto& [fault, least, most] :
       {std::tuple{"intermittent:dev0->dev1", 1, 20}, std::tuple{"intermittent=50/10/2:dev0->dev1", 1, 20},
        std::tuple{"intermittent=90/25:dev0->dev1", 8, 30}}) {
    ScriptedBackend backend(3, at_10_gigabytes);
    const MatrixResult result = measured(backend, make_plan(one_way, backend, {.bytes = 512 * MiB}),
                                         {.short_samples = 66}, parse_simulated_fault(fault));
    EXPECT_GE(slow_ones(result, 0, 1), least) << fault;
    EXPECT_LE(slow_ones(result, 0, 1), most) << fault;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c)
        if (r != c && (r > 0 || c > 1)) {
          EXPECT_EQ(slow_ones(result, r, c), 0) << fault << " " << r << " " << c;
        }
  }
}

TEST(ShortSamples, OfAVisibilityTestAreNotTaken) {
  ScriptedBackend backend(2, at_10_gigabytes);
  const Plan plan = make_plan(testcase("device_to_device_visibility_write_sm"), backend, {.bytes = MiB});
  EXPECT_FALSE(measured(backend, plan, {.short_samples = 66}).short_samples);
}

}  // namespace
}  // namespace linkmatrix
