#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/statistics.hpp"

namespace linkmatrix {
namespace {

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({7}), 7);
}

TEST(MedianInterval, IsMinimumToMaximumUpToEightValues) {
  const Interval few = median_interval({5, 1, 3});
  EXPECT_DOUBLE_EQ(few.low, 1);
  EXPECT_DOUBLE_EQ(few.high, 5);
  const Interval eight = median_interval({1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_DOUBLE_EQ(eight.low, 1);
  EXPECT_DOUBLE_EQ(eight.high, 8);
}

TEST(MedianInterval, DropsOneValueAtEachEndFromNineOn) {
  // P(Binomial(9, 1/2) < 2) = 10/512 = 1.95 %: the second and eighth order
  // statistics cover with 96.1 %.
  const Interval nine = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_DOUBLE_EQ(nine.low, 2);
  EXPECT_DOUBLE_EQ(nine.high, 8);
}

TEST(MedianInterval, CoversTheTrueMedianAtLeastAsOftenAsPromised) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> skewed(0, 1);  // median 1
  for (const int n : {6, 9, 20}) {
    int covered = 0;
    constexpr int trials = 4000;
    for (int t = 0; t < trials; ++t) {
      std::vector<double> values(static_cast<std::size_t>(n));
      for (double& v : values) v = skewed(random);
      const Interval i = median_interval(values);
      covered += i.low <= 1 && 1 <= i.high;
    }
    EXPECT_GE(covered, 0.94 * trials) << n << " values";
  }
}

TEST(RobustSigma, FindsTheSpreadOfNormalNoiseInSpiteOfOutliers) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(100, 3);
  std::vector<double> values(2000);
  for (double& v : values) v = noise(random);
  for (std::size_t i = 0; i < 100; ++i) values[i] = 1e6;
  EXPECT_NEAR(robust_sigma(values), 3, 0.4);
}

/// Returns the interval by its definition: the widest trimming whose coverage, counted over all outcomes, is at least
/// 95 %.
Interval interval_by_definition(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  std::size_t trim = 0;
  for (std::size_t k = 1; 2 * k < n; ++k) {
    long double outside = 0;  // P(fewer than k + 1 of n fall below the median), and the same above
    for (std::size_t below = 0; below <= k; ++below) {
      long double ways = 1;
      for (std::size_t i = 0; i < below; ++i)
        ways = ways * static_cast<long double>(n - i) / static_cast<long double>(i + 1);
      outside += 2 * ways * std::pow(0.5L, static_cast<long double>(n));
    }
    if (outside > 0.05L) break;
    trim = k;
  }
  return {values[trim], values[n - 1 - trim]};
}

TEST(Statistics, AgreeWithTheirDefinitionsOnRandomSamples) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> skewed(0, 0.5);
  for (std::size_t n = 1; n <= 64; ++n)
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::vector<double> values(n);
      for (double& v : values) v = skewed(random);
      std::vector<double> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      const double middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
      EXPECT_DOUBLE_EQ(median(values), middle);
      std::vector<double> deviations;
      for (const double v : values) deviations.push_back(std::abs(v - middle));
      std::sort(deviations.begin(), deviations.end());
      EXPECT_NEAR(robust_sigma(values), 1.4826 * (deviations[(n - 1) / 2] + deviations[n / 2]) / 2, 1e-12);
      const Interval found = median_interval(values), wanted = interval_by_definition(values);
      EXPECT_DOUBLE_EQ(found.low, wanted.low) << n;
      EXPECT_DOUBLE_EQ(found.high, wanted.high) << n;
    }
}

TEST(FitTransfer, RecoversOverheadAndRateOfAnH200Write) {
  const auto seconds = [](double bytes) { return 3.84e-6 + bytes / 396.9e9; };
  std::vector<TransferTime> times;
  for (double bytes = 64 << 20; bytes <= 512 << 20; bytes *= 2) {
    times.push_back({bytes, seconds(bytes)});
    const auto fit = fit_transfer(times);
    ASSERT_EQ(fit.has_value(), times.size() > 1);
    if (!fit) continue;
    EXPECT_LT(fit->worst_deviation, 1e-9);
    EXPECT_NEAR(fit->overhead_seconds, 3.84e-6, 1e-9);
    EXPECT_NEAR(fit->bytes_per_second, 396.9e9, 1e5);
  }
}

TEST(FitTransfer, SaysHowFarTheSizesAreFromTheLine) {
  const auto fit = fit_transfer(std::vector<TransferTime>{{1e3, 2e-6}, {1e6, 4e-6}, {1e9, 1e-3}});
  ASSERT_TRUE(fit);
  EXPECT_GT(fit->worst_deviation, 0.1);
}

TEST(FitTransfer, RefusesALineThatCannotBeATransfer) {
  const auto fit = [](TransferTime a, TransferTime b) { return fit_transfer(std::vector{a, b}); };
  EXPECT_FALSE(fit({1, 2}, {2, 1}));        // more bytes in less time
  EXPECT_FALSE(fit({1, 1e-9}, {2, 1e-3}));  // less than nothing before the first byte
  EXPECT_FALSE(fit({1, 1}, {2, 3}));        // the same, by a second
  EXPECT_FALSE(fit({1, 1}, {1, 1}));        // one size
}

TEST(StopRule, StopsAtTheMinimumWhereSamplesAgree) {
  const StopRule rule;
  EXPECT_FALSE(rule.done(std::vector<double>(6, 100.0), 0));
  EXPECT_TRUE(rule.done(std::vector<double>(7, 100.0), 0));
  EXPECT_TRUE(rule.converged(std::vector<double>(7, 100.0)));
}

TEST(StopRule, ComparesTheTargetWithHalfOfTheIntervalOverTheMedian) {
  const std::vector<double> values{98, 99, 100, 100, 100, 101, 102};
  EXPECT_DOUBLE_EQ(relative_half_width(values), 0.02);
  EXPECT_TRUE(StopRule{.target = 0.0201}.converged(values));
  EXPECT_FALSE(StopRule{.target = 0.0199}.converged(values));
}

TEST(StopRule, GoesOnWhileSamplesDisagreeAndEndsUnconvergedAtTheMaximum) {
  const StopRule rule{.max_samples = 12};
  std::vector<double> values;
  for (int i = 0; i < 11; ++i) values.push_back(i % 2 ? 100 : 90);
  EXPECT_FALSE(rule.done({values.begin(), values.begin() + 7}, 0));
  values.push_back(100);
  EXPECT_TRUE(rule.done(values, 0));
  EXPECT_FALSE(rule.converged(values));
}

TEST(StopRule, GivesANoisyCellNoMoreTimeThanItsPatienceButAlwaysItsLeastSamples) {
  const StopRule rule;
  const std::vector<double> noisy{90, 100, 90, 100, 90, 100, 90};
  EXPECT_FALSE(rule.done(noisy, 0.9 * rule.patience));
  EXPECT_TRUE(rule.done(noisy, rule.patience));
  EXPECT_FALSE(rule.converged(noisy));
  EXPECT_FALSE(rule.done({noisy.begin(), noisy.begin() + 6}, 10 * rule.patience));
}

TEST(StopRule, LooksWhetherNoiseHasSettledOverAWholeWindowAndByHowMuch) {
  const StopRule rule{.max_samples = 1000};
  const std::vector<double> spread{110, 100, 100, 105, 92, 95, 92};
  std::vector<double> values = spread;
  for (std::size_t k = 0; k + 1 < rule.window; ++k) values.push_back(spread[k]);
  EXPECT_FALSE(rule.done(values, 0)) << "no second window yet";
  values.push_back(spread.back());
  EXPECT_TRUE(rule.done(values, 0)) << "the same noise in both";
  std::vector<double> wilder = spread;
  for (const double v : spread) wilder.push_back(100 + 5 * (v - 100));
  EXPECT_FALSE(rule.done(wilder, 0)) << "noise that grew";
}

TEST(StopRule, EndsEarlyWhereNoiseHasSettledAboveTheTarget) {
  const StopRule rule{.max_samples = 1000};
  std::mt19937 random(3);
  std::normal_distribution<double> noise(100, 5);
  std::vector<double> values;
  while (!rule.done(values, 0)) values.push_back(noise(random));
  EXPECT_LT(values.size(), 500u);
  EXPECT_FALSE(rule.converged(values));
}

}  // namespace
}  // namespace linkmatrix
