#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <string>
#include <system_error>

#include "core/error.hpp"
#include "result_facts.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

Record record_of(const std::string& testcase) {
  Record record;
  record.expected = {testcase};
  record.results.push_back(measured(testcase));
  return record;
}

TEST(Judge, PassesOnlyWhatIsWhole) {
  EXPECT_EQ(judge(record_of("write")).code, ExitCode::measured);
  Record record = record_of("write");
  record.expected.push_back("read");
  EXPECT_EQ(judge(record).word, "ERROR");
  EXPECT_EQ(judge(record).error, "no result for read");
  record = record_of("write");
  record.lost.push_back({"rank1", "it does not answer"});
  EXPECT_EQ(judge(record).code, ExitCode::device_error);
  EXPECT_EQ(judge(record).error, "rank1 was lost: it does not answer");
  record.results.back().status(0, 1) = CellStatus::timeout;
  EXPECT_EQ(judge(record).word, "TIMEOUT");
  record = record_of("write");
  record.results.back().status(0, 1) = CellStatus::corrupt;
  EXPECT_EQ(judge(record).word, "FAIL");
  record = record_of("write");
  record.results.back().status(0, 1) = CellStatus::not_run;
  EXPECT_EQ(judge(record).word, "FAIL");
  record.results.back().cells_verified = 1;
  EXPECT_EQ(judge(record).word, "FAIL") << "all that was measured is verified, and not all was measured";
  record = record_of("write");
  record.results.back().cells_verified = 1;
  EXPECT_EQ(judge(record).word, "FAIL") << "all was measured, and not all is verified";
}

TEST(Judge, SaysWhichCellsEndedARunInWhichNothingWasLost) {
  Record record = record_of("write");
  record.results.back().status(0, 1) = CellStatus::timeout;
  EXPECT_EQ(judge(record).error, "write: 1 cell timed out, gpu0->gpu1");
  record.results.back().status(1, 0) = CellStatus::timeout;
  EXPECT_EQ(judge(record).error, "write: 2 cells timed out, gpu0->gpu1 the first");
  record.results.back().status(1, 0) = CellStatus::error;
  EXPECT_EQ(judge(record).word, "TIMEOUT");
  EXPECT_EQ(judge(record).error, "write: 1 cell timed out, gpu0->gpu1; write: 1 cell failed, gpu1->gpu0");
  record.results.back().status(0, 1) = CellStatus::ok;
  EXPECT_EQ(judge(record).word, "ERROR");
  EXPECT_EQ(judge(record).error, "write: 1 cell failed, gpu1->gpu0");
  record.results.back().notes = {"gpu1->gpu0: it failed", "gpu0->gpu1: it is slow", "gpu1->gpu0: clocks disagree"};
  EXPECT_EQ(judge(record).error, "write: 1 cell failed, gpu1->gpu0: clocks disagree");
  record.results.assign(5, record.results.back());
  EXPECT_NE(judge(record).error->find("; and 2 more matrices"), std::string::npos);
}

TEST(Judge, SaysHowManyCellsOfAFileEndedSo) {
  Record record;
  MatrixResult& result = record.results.emplace_back();
  result.testcase = "write";
  result.large.emplace();
  result.large->statuses = {"ok", "timeout"};
  result.large->counts = {7, 2};
  EXPECT_EQ(judge(record).error, "write: 2 cells timed out");
}

TEST(EndingOf, SaysWhatTheSystemDoesNotGive) {
  EXPECT_EQ(ending_of(std::bad_alloc()).code, ExitCode::device_error);
  EXPECT_NE(ending_of(std::bad_alloc()).error->find("ulimit -v"), std::string::npos);
  const std::system_error no_thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_NE(ending_of(no_thread).error->find("ulimit -u"), std::string::npos);
  EXPECT_EQ(ending_of(BadInput("x")).code, ExitCode::bad_input);
  EXPECT_EQ(ending_of(TimedOut("x")).code, ExitCode::timed_out);
}

}  // namespace
}  // namespace linkmatrix
