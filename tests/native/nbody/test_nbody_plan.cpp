#include <gtest/gtest.h>

#include "nbody/plan.hpp"
#include "nbody/split.hpp"

namespace linkmatrix {
namespace {

MatrixResult curve_of(const NbodyPlan& plan, const std::vector<int>& counts, const std::vector<double>& rates) {
  const NbodySampler::Cases cases = cases_of(plan, counts);
  MatrixResult result;
  std::vector<std::string> columns;
  for (const int count : counts) columns.push_back(column_of(count));
  result.set_labels({"all"}, columns);
  result.testcase = plan.series.name();
  for (std::size_t c = 0; c < rates.size(); ++c) {
    result.status(0, c) = rates[c] > 0 ? CellStatus::ok : CellStatus::error;
    if (rates[c] > 0) result.values(0, c) = rates[c];
    result.part("bodies", "bodies", "bodies")(0, c) = static_cast<double>(cases.at({0, c}).bodies);
  }
  add_figures(cases, result);
  return result;
}

double figure(const MatrixResult& result, const std::string& part, std::size_t column) {
  return result.parts.at(part).values(0, column).value_or(-1);
}

TEST(NbodyPlan, MeasuresPowersOfTwoAndAllDevices) {
  EXPECT_EQ(usual_counts(1), (std::vector{1}));
  EXPECT_EQ(usual_counts(6), (std::vector{1, 2, 4, 6}));
  EXPECT_EQ(usual_counts(8), (std::vector{1, 2, 4, 8}));
}

TEST(NbodyPlan, GivesEachDeviceAsManyBodiesWhereTheScalingIsWeak) {
  const NbodyPlan strong{{Precision::f32, Scaling::strong}, 4096}, weak{{Precision::f64, Scaling::weak}, 4096};
  EXPECT_EQ(bodies_on(strong, 4), 4096U);
  EXPECT_EQ(bodies_on(weak, 4), 16384U);
  EXPECT_EQ(weak.series.name(), "nbody_double_weak");
}

TEST(NbodyPlan, RefusesDevicesWithoutATile) {
  EXPECT_NO_THROW(refuse_too_few_bodies({{Precision::f32, Scaling::strong}, 1024}, {1, 4}));
  EXPECT_THROW(refuse_too_few_bodies({{Precision::f32, Scaling::strong}, 1023}, {1, 4}), BadInput);
  EXPECT_NO_THROW(refuse_too_few_bodies({{Precision::f32, Scaling::weak}, 256}, {1, 4}));
}

TEST(NbodyFigures, EfficiencyIsTheRateOverAsManyTimesThatOfOne) {
  const MatrixResult result = curve_of({{Precision::f32, Scaling::strong}, 4096}, {1, 2, 4}, {100, 190, 300});
  EXPECT_DOUBLE_EQ(figure(result, "efficiency", 0), 100);
  EXPECT_DOUBLE_EQ(figure(result, "efficiency", 1), 95);
  EXPECT_DOUBLE_EQ(figure(result, "efficiency", 2), 75);
  EXPECT_DOUBLE_EQ(figure(result, "time", 0), 4096.0 * 4096 * 20 / 100e9 * 1e6) << "20 operations an interaction";
}

TEST(NbodyFigures, WeakScalingTakesLongerOnlyAsFarAsThereAreMoreInteractions) {
  // twice the bodies on two devices: four times the interactions, in twice the time without loss
  const MatrixResult result = curve_of({{Precision::f64, Scaling::weak}, 4096}, {1, 2}, {100, 200});
  EXPECT_DOUBLE_EQ(figure(result, "efficiency", 1), 100);
  EXPECT_DOUBLE_EQ(figure(result, "time", 1), 2 * figure(result, "time", 0));
}

TEST(NbodyFigures, ThereIsNoEfficiencyWithoutTheFirst) {
  const MatrixResult result = curve_of({{Precision::f32, Scaling::strong}, 4096}, {1, 2}, {-1, 190});
  EXPECT_FALSE(result.parts.contains("efficiency"));
  EXPECT_GT(figure(result, "time", 1), 0);
  EXPECT_NE(scaling_table({result}).find("error"), std::string::npos);
}

TEST(ScalingTable, HasALineForEachNumberOfBodies) {
  const MatrixResult few = curve_of({{Precision::f32, Scaling::strong}, 4096}, {1, 2}, {100, 190});
  const MatrixResult many = curve_of({{Precision::f32, Scaling::strong}, 65536}, {1, 2}, {100, 199});
  const std::string text = scaling_table({few, many});
  EXPECT_NE(text.find("4096        100.00         95.00"), std::string::npos) << text;
  EXPECT_NE(text.find("65536        100.00         99.50"), std::string::npos) << text;
}

TEST(Split, GivesEveryBodyToOnePart) {
  for (const std::uint64_t bodies : {256, 257, 1000, 4096, 100'003})
    for (const int parts : {1, 2, 3, 7, 8}) {
      const Split split(bodies, parts);
      std::uint64_t next = 0, least = bodies, most = 0;
      for (int part = 0; part < parts; ++part) {
        EXPECT_EQ(split.first(part), next) << bodies << " bodies, part " << part << " of " << parts;
        next += split.count(part);
        least = std::min(least, split.count(part)), most = std::max(most, split.count(part));
      }
      EXPECT_EQ(next, bodies);
      EXPECT_LE(most - least, 1U) << "parts differ by one body at most";
      EXPECT_LE(most, split.stride());
    }
}

TEST(Split, LaysPartsInWholeTiles) {
  const Split split(1000, 3);
  EXPECT_EQ(split.stride(), 512U);
  EXPECT_EQ(split.places(), 1536U);
  EXPECT_EQ(split.place_of(2), 1024U);
}

}  // namespace

}  // namespace linkmatrix
