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

CellValue measured(double value, CellStatus status = CellStatus::ok) {
  CellValue cell;
  cell.status = status;
  cell.value = value;
  cell.low = value - 1;
  cell.high = value + 1;
  cell.samples = 7;
  cell.verified = true;
  return cell;
}

/// A record with one result of three rows.
struct Recorded {
  Recorded() {
    record.change([](Record& r) {
      MatrixResult& result = r.results.emplace_back();
      result.rows = result.columns = {"a", "b", "c"};
    });
  }
  MatrixResult result() const {
    return record.read([](const Record& r) { return r.results.back(); });
  }
  Guarded<Record> record;
};

std::string all(std::size_t, std::size_t) { return "NET"; }

TEST(CellFile, SaysOfWhatWasNeverWrittenThatItWasNotRun) {
  Recorded recorded;
  CellFile cells(recorded.record, scratch(), 3, false, all);
  for (const bool finished : {false, true}) {  // a job that is killed leaves the first
    if (finished) cells.finish();
    const CellSummary summary = *recorded.result().large;
    EXPECT_EQ(summary.statuses[0], "not-run");
    EXPECT_EQ(summary.counts[0], 6u);
    EXPECT_TRUE(summary.classes.empty());
  }
}

TEST(CellFile, IsNotWrittenThroughALinkThatAnotherUserPutInItsPlace) {
  const auto victim = std::filesystem::path(scratch()) += ".victim";
  std::ofstream(victim) << "kept";
  std::filesystem::remove(scratch());
  std::filesystem::create_symlink(victim, scratch());
  Recorded recorded;
  CellFile(recorded.record, scratch(), 3, false, all).finish();
  std::ifstream in(victim);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "kept");
  EXPECT_FALSE(std::filesystem::is_symlink(scratch()));
  std::filesystem::remove(victim);
}

TEST(CellFile, KeepsCellsAndSumsThemUp) {
  Recorded recorded;
  {
    CellFile cells(recorded.record, scratch(), 3, false, all);
    cells.put({0, 1}, measured(10));
    cells.put({0, 2}, measured(20));
    cells.put({1, 2}, measured(30));
    cells.mark({2, 0}, CellStatus::timeout);
    EXPECT_EQ(cells.value({0, 2}), 20);
    EXPECT_EQ(cells.interval({0, 2})->low, 19);
    EXPECT_FALSE(cells.value({2, 0}));
    EXPECT_EQ(cells.status({2, 0}), CellStatus::timeout);
    EXPECT_EQ(cells.status({1, 0}), CellStatus::not_run);
    EXPECT_FALSE(cells.can_remeasure());
    cells.finish();
  }
  const MatrixResult result = recorded.result();
  EXPECT_EQ(result.cells_verified, 3u);
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

TEST(CellFile, KeepsACorruptCellWhateverComesLater) {
  Recorded recorded;
  CellFile cells(recorded.record, scratch(), 3, true, all);
  cells.put({0, 1}, measured(10, CellStatus::corrupt));
  cells.put({0, 1}, measured(11));
  cells.mark({1, 0}, CellStatus::timeout);
  cells.finish();
  EXPECT_EQ(cells.status({0, 1}), CellStatus::corrupt);
  EXPECT_EQ(cells.status({1, 0}),
            CellStatus::corrupt);  // both directions are one cell's
  EXPECT_EQ(cells.value({0, 1}), 10);
  std::filesystem::remove(scratch());
}

TEST(CellFile, OfFewCellsTheOthersDoNotApplyAndOneThatIsMeasuredAgainCountsOnce) {
  Recorded recorded;
  CellFile cells(recorded.record, scratch(), 3, false, all, CellStatus::not_applicable);
  EXPECT_EQ(recorded.result().large->counts.front(), 9u);
  cells.put({0, 1}, measured(10));
  cells.put({1, 0}, measured(20));
  cells.mark({2, 0}, CellStatus::not_run);
  cells.fail({0, 1}, CellStatus::not_applicable);
  EXPECT_EQ(cells.status({0, 1}), CellStatus::not_applicable);
  cells.put({0, 1}, measured(12));
  cells.finish();
  const MatrixResult result = recorded.result();
  EXPECT_EQ(result.large->statuses.front(), "not-applicable");
  EXPECT_EQ(result.cells(CellStatus::not_applicable), 6u);
  EXPECT_EQ(result.cells(CellStatus::ok), 2u);
  EXPECT_EQ(result.cells(CellStatus::not_run), 1u);
  EXPECT_EQ(result.cells_verified, 2u);
  EXPECT_FALSE(result.complete()) << "a cell that was drawn and not measured is missing";
  std::filesystem::remove(scratch());
}

TEST(CellFile, RefusesAFolderThatIsNotThere) {
  Recorded recorded;
  EXPECT_THROW(CellFile(recorded.record, "/no/such/folder/x.npy", 3, false, all), BadInput);
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
