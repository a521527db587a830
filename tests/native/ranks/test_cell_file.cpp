#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.hpp"
#include "ranks/cell_file.hpp"

namespace linkmatrix::ranks {
namespace {

std::filesystem::path scratch() {
  return std::filesystem::temp_directory_path() / ("cells-" + std::to_string(::getpid()) + ".npy");
}

Report measured(double value) {
  Report report;
  report.value = value;
  report.low = value - 1;
  report.high = value + 1;
  report.samples = 7;
  return report;
}

std::string all(std::size_t, std::size_t) { return "NET"; }

TEST(CellFile, SaysOfWhatWasNeverWrittenThatItWasNotRun) {
  CellFile cells(scratch(), 3, false, true);
  const CellSummary summary = cells.summary(all);
  EXPECT_EQ(summary.statuses[0], "not-run");
  EXPECT_EQ(summary.counts[0], 6u);
  EXPECT_TRUE(summary.classes.empty());
}

TEST(CellFile, KeepsCellsAndSumsThemUp) {
  MatrixResult result;
  {
    CellFile cells(scratch(), 3, false, true);
    cells.put(0, 1, measured(10));
    cells.put(0, 2, measured(20));
    cells.put(1, 2, measured(30));
    cells.mark(2, 0, CellStatus::timeout);
    EXPECT_EQ(cells.value(0, 2), 20);
    EXPECT_FALSE(cells.value(2, 0));
    result.rows = result.columns = {"a", "b", "c"};
    result.large = cells.summary(all);
    EXPECT_EQ(cells.verified(), 3u);
  }
  EXPECT_EQ(result.large->row_medians, (std::vector<double>{15, 30, 0}));
  EXPECT_EQ(result.large->column_medians, (std::vector<double>{0, 10, 25}));
  EXPECT_EQ(result.large->classes.front().measured, 3u);
  EXPECT_NEAR(result.large->classes.front().median, 20, 0.02);
  EXPECT_EQ(result.cells(CellStatus::timeout), 1u);
  EXPECT_EQ(result.cells(CellStatus::not_applicable), 3u);
  EXPECT_FALSE(result.complete());
  std::ifstream in(scratch(), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_EQ(text.substr(1, 5), "NUMPY");
  EXPECT_EQ(text.size(), 256u + 9 * 16);
  std::filesystem::remove(scratch());
}

TEST(CellFile, RefusesAFolderThatIsNotThere) {
  EXPECT_THROW(CellFile("/no/such/folder/x.npy", 3, false, true), BadInput);
}

TEST(Quantiles, AreWithinATenthOfAPercent) {
  Quantiles quantiles;
  for (int k = 1; k <= 1001; ++k) quantiles.add(k);
  EXPECT_NEAR(quantiles.at(0.5), 501, 0.5);
  EXPECT_EQ(quantiles.least(), 1);
  EXPECT_EQ(quantiles.most(), 1001);
  EXPECT_EQ(quantiles.count(), 1001u);
}

}  // namespace
}  // namespace linkmatrix::ranks
