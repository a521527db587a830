#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "core/json.hpp"
#include "core/record.hpp"
#include "core/table.hpp"
#include "core/watchdog.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

MatrixResult sample() {
  MatrixResult result;
  result.testcase = "device_to_device_memcpy_write_ce";
  result.quantity = "bandwidth";
  result.transport = "direct";
  result.unit = "GB/s";
  result.size_bytes = 64;
  result.shape({"gpu0", "gpu1"}, {"gpu0", "gpu1"});
  result.values(0, 1) = 396.123;
  result.low(0, 1) = result.high(0, 1) = 396.123;
  result.samples(0, 1) = 7;
  result.converged(0, 1) = true;
  result.status(0, 1) = CellStatus::ok;
  result.status(1, 0) = CellStatus::timeout;
  result.cells_verified = 1;
  return result;
}

std::string printed(const MatrixResult& result, std::size_t max_display = 16) {
  std::ostringstream out;
  print_result(out, result, max_display);
  return out.str();
}

TEST(Table, HasItsHeadAndWordsInPlaceOfMissingNumbers) {
  const std::string text = printed(sample());
  EXPECT_NE(
      text.find("device_to_device_memcpy_write_ce: bandwidth (GB/s), 64 bytes, row = source, column = destination\n"),
      std::string::npos);
  EXPECT_NE(text.find("gpu0         -    396.12\n"), std::string::npos);
  EXPECT_NE(text.find("gpu1   timeout         -\n"), std::string::npos);
  EXPECT_NE(text.find("incomplete: 1 of 2 cells measured\n"), std::string::npos);
  EXPECT_NE(text.find("verified: 1 of 2 cells\n"), std::string::npos);
}

TEST(Table, TellsSmallValuesApart) {
  MatrixResult result = sample();
  result.values(0, 1) = 0.0124;
  result.values(1, 0) = 0.0061;
  result.status(1, 0) = CellStatus::ok;
  const std::string text = printed(result);
  EXPECT_NE(text.find("gpu0         -    0.0124\n"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu1   0.00610         -\n"), std::string::npos) << text;
  EXPECT_NE(text.find("min 0.00610  median 0.00925  max 0.0124  sum 0.0185\n"), std::string::npos) << text;
  result.values(0, 1) = 0.999;
  result.values(1, 0) = 1.005;
  EXPECT_NE(printed(result).find("min 0.999  median 1.00  max 1.0"), std::string::npos) << printed(result);
  result.unit = "us";
  result.values(0, 1) = 0.84;
  result.values(1, 0) = 0.0842;
  EXPECT_NE(printed(result).find("min 0.0842  median 0.462  max 0.840  sum 0.924\n"), std::string::npos);
}

TEST(Table, NeverPrintsTheNumberOfACorruptCell) {
  MatrixResult result = sample();
  result.status(0, 1) = CellStatus::corrupt;
  EXPECT_EQ(printed(result).find("396.12"), std::string::npos);
  EXPECT_NE(printed(result).find("corrupt"), std::string::npos);
}

TEST(Table, SaysWhatItDidNotPrint) {
  EXPECT_NE(printed(sample(), 1).find("(first 1 of 2 rows and columns shown; the record has all)"), std::string::npos);
}

TEST(Json, EscapesTextAndWritesNoNumberThatJsonLacks) {
  JsonWriter w;
  w.begin_array().value("a\"b\\c\n\x01").value(std::nan("")).value(std::numeric_limits<double>::infinity());
  w.value(std::optional<double>()).value(true).value(std::uint64_t{1} << 40).end_array();
  EXPECT_EQ(w.text(), R"(["a\"b\\c\u000a\u0001",null,null,null,true,1099511627776])");
}

TEST(Json, SeparatesMembersAndNests) {
  JsonWriter w;
  w.begin_object().member("a", 1).key("b").begin_array().end_array().member("c", std::vector<std::string>{"x", "y"});
  w.end_object();
  EXPECT_EQ(w.text(), R"({"a":1,"b":[],"c":["x","y"]})");
}

TEST(RecordFile, IsWrittenWholeOrNotAtAll) {
  const fs::path folder = fs::path(testing::TempDir()) / "linkmatrix_record";
  fs::remove_all(folder);
  EXPECT_THROW(check_writable(folder / "record.json"), BadInput);
  fs::create_directories(folder);
  check_writable(folder / "record.json");
  EXPECT_TRUE(fs::is_empty(folder)) << "asking leaves nothing behind";
  Record record;
  record.results.push_back(sample());
  write_record(record, folder / "record.json");
  std::ifstream in(folder / "record.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, to_json(record));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  EXPECT_THROW(write_record(record, folder), BadInput);  // a folder of that name
  fs::remove_all(folder);
}

TEST(RecordFile, HoldsWhatWasMeasuredAgainAndItsControls) {
  Record record;
  MatrixResult result = sample();
  result.remeasured.push_back({0, 1, 300.5, 301});
  result.controls.push_back({1, 0, 396.5, 396});
  record.results.push_back(std::move(result));
  const std::string text = to_json(record);
  EXPECT_NE(text.find(R"("remeasured":[{"row":"gpu0","column":"gpu1","before":300.5,"after":301}],)"
                      R"("controls":[{"row":"gpu1","column":"gpu0","before":396.5,"after":396}])"),
            std::string::npos)
      << text;
}

TEST(Watchdog, BarksOnceWhenTheDeadlinePassesAndNotBefore) {
  std::atomic<int> barks = 0;
  {
    const Watchdog calm(Deadline::in(3600), [&](const std::string&) { ++barks; });
  }
  EXPECT_EQ(barks, 0);
  {
    const Watchdog alarmed(Deadline::in(0.01), [&](const std::string&) { ++barks; });
    const Deadline patience = Deadline::in(30);
    while (barks == 0 && !patience.passed()) std::this_thread::yield();
  }
  EXPECT_EQ(barks, 1);
}

}  // namespace
}  // namespace linkmatrix
