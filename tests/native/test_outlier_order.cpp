#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "measure/outliers.hpp"
#include "measured_matrix.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

TEST(Outliers, ADisturbedCellIsMeasuredAgainBeforeTheManyOfASlowDevice) {
  // 18 cells of device 0 are slow; 3 -> 4 was disturbed in its round, and is less slow
  ScriptedSampler sampler([](const CellIndex& index, std::size_t at_once) {
    if (index.row == 0 || index.column == 0) return 7.0;
    return index == CellIndex{3, 4} && at_once > 1 ? 9.0 : 10.0;
  });
  const MatrixResult result = measured(sampler, 10, {.concurrency = Concurrency::rounds}).results.front();
  ASSERT_EQ(result.remeasured.size(), 16u);
  EXPECT_EQ(result.remeasured[0].row, 3u);
  EXPECT_EQ(result.remeasured[0].column, 4u);
  EXPECT_NEAR(*result.values(3, 4), 10, 1e-9);
}

TEST(Outliers, ADisturbedCellIsToldFromABlockOfSlowOnesInItsRow) {
  // 0 … 2 send slowly to 3 … 5, and 0 -> 8 was disturbed
  std::vector<CellDeviation> outliers;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 3; column < 6; ++column) outliers.push_back({outliers.size(), row, column, "NET", 0.3});
  outliers.push_back({outliers.size(), 0, 8, "NET", 0.1});
  sort_by_benefit(outliers, {}, true);
  EXPECT_EQ(outliers.front().column, 8u);
}

TEST(Outliers, ALinkWhoseBothWaysStandOutIsMeasuredAgainBeforeTheManyCellsThatWereDisturbedAlone) {
  // every row and column of 100 endpoints has three or four disturbed cells; 10 <-> 20 is disturbed in both directions
  std::vector<CellDeviation> outliers, healthy;
  for (std::size_t row = 0; row < 100; ++row)
    for (std::size_t column = 0; column < 100; ++column) {
      if (row == column) continue;
      const bool disturbed = (column + 100 - row) % 100 == 1 || (column + 100 - 2 * row) % 25 == 3;
      const bool both = std::minmax(row, column) == std::minmax<std::size_t>(10, 20);
      const CellDeviation cell{outliers.size() + healthy.size(), row, column, "NET", both ? 0.03 : 0.1};
      (disturbed || both ? outliers : healthy).push_back(cell);
    }
  sort_by_benefit(outliers, healthy, true);
  std::set<std::pair<std::size_t, std::size_t>> cells;
  for (const CellDeviation& cell : outliers) cells.emplace(cell.row, cell.column);
  const auto alone = std::find_if(outliers.begin(), outliers.end(), [&](const CellDeviation& cell) {
    return !cells.contains({cell.column, cell.row});
  });
  EXPECT_GE(alone - outliers.begin(), 2);
  EXPECT_TRUE(std::all_of(alone, outliers.end(), [&](const CellDeviation& cell) {
    return !cells.contains({cell.column, cell.row});
  }));
  EXPECT_TRUE(std::any_of(outliers.begin(), alone, [](const CellDeviation& cell) { return cell.row == 10; }));
}

TEST(Outliers, BothWaysOfABlockOfSlowCellsWaitForACellThatWasDisturbedAlone) {
  // of 20 endpoints, each of 0 … 2 sends slowly to each of 3 … 5 and receives slowly from each; 0 -> 8 was disturbed
  std::vector<CellDeviation> outliers, healthy;
  const auto in = [](std::size_t i, std::size_t first) { return i >= first && i < first + 3; };
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t column = 0; column < 20; ++column) {
      const bool block = (in(row, 0) && in(column, 3)) || (in(row, 3) && in(column, 0));
      const bool out = block || (row == 0 && column == 8);
      if (row != column) (out ? outliers : healthy).push_back({0, row, column, "NET", block ? 0.3 : 0.1});
    }
  sort_by_benefit(outliers, healthy, true);
  EXPECT_EQ(outliers.front().column, 8u);
}

TEST(Outliers, ADisturbedCellIsMeasuredAgainBeforeTheManyOfTwoSlowDevices) {
  // most rows and columns of eight have two of these cells, as many as random disturbances would cause
  ScriptedSampler sampler([](const CellIndex& index, std::size_t at_once) {
    if (index.row < 2 || index.column < 2) return 9.0;
    return index == CellIndex{3, 4} && at_once > 1 ? 9.5 : 10.0;
  });
  MeasureOptions options{.concurrency = Concurrency::rounds};
  options.references = std::make_shared<const References>(References::parse("pairs\tcell[]\t10\tGB/s\n"));
  const MatrixResult result = measured(sampler, 8, options).results.front();
  ASSERT_EQ(result.remeasured.size(), 16u);
  EXPECT_EQ(result.remeasured[0].row, 3u);
  EXPECT_EQ(result.remeasured[0].column, 4u);
  EXPECT_NEAR(*result.values(3, 4), 10, 1e-9);
}

TEST(Outliers, ChancePutsNoneWhereMostRowsAndColumnsHaveNone) {
  // of 20 endpoints, each of 0 … 2 sends slowly to each of 3 … 5; 3 -> 0 and 10 -> 11 were disturbed
  std::vector<CellDeviation> outliers, healthy;
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t column = 0; column < 20; ++column) {
      const bool block = row < 3 && column >= 3 && column < 6;
      const bool out = block || (row == 3 && column == 0) || (row == 10 && column == 11);
      if (row != column) (out ? outliers : healthy).push_back({0, row, column, "NET", block ? 0.3 : 0.1});
    }
  sort_by_benefit(outliers, healthy, true);
  EXPECT_EQ(outliers[0].row, 3u);
  EXPECT_EQ(outliers[1].row, 10u) << "before 0 -> 3, both of whose ways stand out";
}

TEST(Outliers, WhatChanceDisturbsInOneClassComesBeforeASlowDeviceOfAnother) {
  // between nodes of four endpoints every row and column has disturbed cells; endpoint 0 sends slowly inside its node
  std::vector<CellDeviation> outliers, healthy;
  for (std::size_t row = 0; row < 100; ++row)
    for (std::size_t column = 0; column < 100; ++column) {
      if (row == column) continue;
      const bool inside = row / 4 == column / 4;
      const bool disturbed = (column + 100 - row) % 100 == 1 || (column + 100 - 2 * row) % 25 == 3;
      (inside ? row == 0 : disturbed) ? outliers.push_back({0, row, column, inside ? "NV18" : "NET", 0.1})
                                      : healthy.push_back({0, row, column, inside ? "NV18" : "NET", 0});
    }
  sort_by_benefit(outliers, healthy, true);
  for (std::size_t i = 0; i < 49; ++i) EXPECT_EQ(outliers[i].link_class, "NET") << i;
}

TEST(Outliers, BetweenHostsAndDevicesNoCellIsTheOtherWayOfAnother) {
  // numa0 -> dev1 and numa1 -> dev0 have no common endpoint
  ScriptedBackend backend(4, [](const Copy& copy, std::size_t at_once) {
    const int host = copy.source - 4, device = copy.destination;
    const bool is_worst = host == 2 && device == 3;
    const bool is_bad = (host == 0 && device == 1) || (host == 1 && device == 0);
    return at_10_gigabytes(copy, at_once) * (is_worst ? 1.5 : is_bad ? 1.1 : 1.0);
  });
  for (int host = 0; host < 3; ++host) backend.add_host_memory();
  const MatrixResult result = measured(backend, testcase("host_to_device_memcpy_ce"));
  ASSERT_EQ(result.remeasured.size(), 3u);
  EXPECT_EQ(result.remeasured[0].row, 2u);
  EXPECT_EQ(result.remeasured[0].column, 3u);
}

TEST(Outliers, WhatADeviceCopiesToItselfHasNoOtherWay) {
  std::vector<CellDeviation> outliers{{0, 3, 3, "LOCAL", 0.1}, {1, 0, 1, "NV18", 0.3}};
  sort_by_benefit(outliers, {}, true);
  EXPECT_EQ(outliers.front().column, 1u);
}

}  // namespace
}  // namespace linkmatrix
