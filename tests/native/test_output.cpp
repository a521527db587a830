#include <gtest/gtest.h>
#include <unistd.h>

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
#include "own_folder.hpp"
#include "run/atomic_file.hpp"

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
  result.set_labels({"gpu0", "gpu1"}, {"gpu0", "gpu1"});
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
  EXPECT_NE(text.find("device_to_device_memcpy_write_ce: bandwidth (GB/s), 64 "
                      "bytes, row = source, column = destination\n"),
            std::string::npos);
  EXPECT_NE(text.find("gpu0         -    396.12\n"), std::string::npos);
  EXPECT_NE(text.find("gpu1   timeout         -\n"), std::string::npos);
  EXPECT_NE(text.find("incomplete: 1 of 2 cells measured\n"), std::string::npos);
  EXPECT_NE(text.find("verified: 1 of 2 cells\n"), std::string::npos);
}

TEST(Table, StatesHowMuchOfTheDataWasCompared) {
  MatrixResult result = sample();
  result.coverage = {.transfers = 20, .compared_transfers = 10, .compared_share = 1.1, .samples = 10};
  EXPECT_NE(printed(result).find("verified: 1 of 2 cells (11 % of one transfer per sample)\n"), std::string::npos);
  result.coverage.compared_share = 10;
  EXPECT_NE(printed(result).find("verified: 1 of 2 cells (one transfer per sample)\n"), std::string::npos);
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
  EXPECT_NE(printed(sample(), 1).find("(first 1 of 2 rows and columns shown; the record contains all)"),
            std::string::npos);
}

TEST(Json, EscapesTextAndWritesNoNumberThatJsonLacks) {
  JsonWriter w;
  w.begin_array().value("a\"b\\c\n\x01").value(std::nan("")).value(std::numeric_limits<double>::infinity());
  w.value(std::optional<double>()).value(true).value(std::uint64_t{1} << 40).end_array();
  EXPECT_EQ(w.text(), R"(["a\"b\\c\u000a\u0001",null,null,null,true,1099511627776])");
}

TEST(Json, IsUtf8WhateverItIsGiven) {
  const auto written = [](std::string_view text) { return JsonWriter().value(text).text(); };
  for (const char* text : {"µs", "é", "\u20ac", "\xed\x9f\xbf", "\xee\x80\x80", "\U0001f9ea", "\U0010ffff"})
    EXPECT_EQ(written(text), '"' + std::string(text) + '"');
  // '?' stands for U+FFFD: one for each beginning of a character that goes no
  // further, as Python's errors="replace".
  const std::vector<std::pair<std::string_view, std::string>> bad{
      {"a\xff.b", "a?.b"},                     // never in UTF-8
      {"\xe9t\xe9", "?t?"},                    // Latin-1
      {"\x80", "?"},                           // only continues
      {"\xc3\xa9\xa9", "é?"},                  // one too many
      {"\xc3", "?"},                           // ends too early
      {"\xe2\x82", "?"},                       // ends too early
      {"\xf0\x9f\xa7.", "?."},                 // ends too early
      {"\xe2\"", "?\\\""},                     // the quote stays one
      {"\xc0\xaf", "??"},                      // longer than needed
      {"\xe0\x80\xaf", "???"},                 // longer than needed
      {"\xf0\x80\x80\xaf", "????"},            // longer than needed
      {"\xed\xa0\x80\xed\xb0\x80", "??????"},  // a pair of surrogates
      {"\xf4\x90\x80\x80", "????"},            // beyond U+10FFFF
      {"\xf8\x88\x80\x80\x80", "?????"},       // five bytes
  };
  for (const auto& [text, wanted] : bad) {
    std::string marked = '"' + wanted + '"';
    for (std::size_t at; (at = marked.find('?')) != std::string::npos;) marked.replace(at, 1, "\xef\xbf\xbd");
    EXPECT_EQ(written(text), marked);
  }
  EXPECT_EQ(written({"\0\t\x1f\x7f", 4}), R"("\u0000\u0009\u001f\u007f")");
  EXPECT_EQ(JsonWriter().begin_object().member("k\xff", 1).end_object().text(), "{\"k\xef\xbf\xbd\":1}");
}

TEST(Json, SeparatesMembersAndNests) {
  JsonWriter w;
  w.begin_object().member("a", 1).key("b").begin_array().end_array().member("c", std::vector<std::string>{"x", "y"});
  w.end_object();
  EXPECT_EQ(w.text(), R"({"a":1,"b":[],"c":["x","y"]})");
}

TEST(RecordFile, IsWrittenWholeOrNotAtAll) {
  const fs::path folder = own_folder("record");
  fs::remove_all(folder);
  EXPECT_THROW(check_writable(folder / "record.json"), BadInput);
  fs::create_directories(folder);
  check_writable(folder / "record.json");
  EXPECT_TRUE(fs::is_empty(folder)) << "asking leaves nothing behind";
  Record record;
  record.results.push_back(sample());
  EXPECT_EQ(write_whole(to_json(record), folder / "record.json", 1, [] { return true; }), "");
  std::ifstream in(folder / "record.json");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text, to_json(record));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  EXPECT_NE(write_whole("", folder, 1, [] { return true; }),
            "");  // a folder of that name
  fs::remove_all(folder);
}

TEST(RecordFile, IsNotWrittenThroughALinkThatAnotherUserPutUnderANameToBe) {
  const fs::path folder = own_folder("planted");
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "mine") << "kept";
  for (const int number : {0, 1})
    fs::create_symlink(
        "mine", folder / ("record.json." + std::to_string(::getpid()) + "." + std::to_string(number) + ".partial"));
  check_writable(folder / "record.json");
  EXPECT_EQ(write_whole("new", folder / "record.json", 1, [] { return true; }), "");
  for (const auto& [name, text] : {std::pair{"mine", "kept"}, {"record.json", "new"}}) {
    std::ifstream in(folder / name);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << name;
  }
  EXPECT_FALSE(fs::is_symlink(folder / "record.json"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2);
  fs::remove_all(folder);
}

TEST(RecordFile, IsWhereItsLinksLeadAlsoWhereNothingIsYet) {
  const fs::path folder = own_folder("links");
  fs::remove_all(folder);
  fs::create_directories(folder / "runs");
  fs::create_symlink("runs/today.json", folder / "latest");
  fs::create_symlink("latest", folder / "chain");
  fs::create_symlink("round", folder / "circle");
  fs::create_symlink("circle", folder / "round");
  EXPECT_EQ(target_of(folder / "chain"), folder / "runs" / "today.json");
  EXPECT_EQ(target_of(folder / "plain.json"), folder / "plain.json");
  EXPECT_THROW(target_of(folder / "circle"), BadInput) << "before anything is measured";
  fs::remove_all(folder);
}

TEST(RecordFile, IsRefusedWithTheReasonOfTheSystem) {
  const auto refusal = [](const fs::path& file) -> std::string {
    try {
      check_writable(file);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "";
  };
  const fs::path folder = testing::TempDir();
  EXPECT_NE(refusal(folder / std::string(300, 'x')).find("(File name too long)"), std::string::npos);
  EXPECT_NE(refusal(folder / "none" / "r.json").find("(No such file or directory)"), std::string::npos);
  EXPECT_NE(refusal(folder).find("(Is a directory)"), std::string::npos);
}

TEST(RecordFile, HoldsWhatWasMeasuredAgainAndItsControls) {
  Record record;
  MatrixResult result = sample();
  result.remeasured.push_back({0, 1, 300.5, 301, Outcome::reproduced});
  result.controls.push_back({1, 0, 396.5, 396});
  record.results.push_back(std::move(result));
  const std::string text = to_json(record);
  EXPECT_NE(
      text.find(R"("remeasured":[{"row":"gpu0","column":"gpu1","before":300.5,"after":301,"outcome":"reproduced"}],)"
                R"("controls":[{"row":"gpu1","column":"gpu0","before":396.5,"after":396}],"control_change":0)"),
      std::string::npos)
      << text;
}

TEST(RecordFile, HasTheTargetOfEachLinkClassAndTheSlowEndpointsOfMatchings) {
  Record record;
  MatrixResult result = sample();
  result.targets = {{"NV18", 0.0025}};
  result.matchings.emplace();
  result.matchings->slow_endpoints.push_back({1, true, false, -0.125, 2, 3, 1, 1});
  result.matchings->slow_rows = {1}, result.matchings->slow_columns = {0};
  result.matchings->shared_bottleneck = {0.25, 31, 32};
  record.results.push_back(std::move(result));
  const std::string text = to_json(record);
  EXPECT_NE(text.find(R"("targets":{"NV18":0.0025})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("shared_bottleneck":{"loss":0.25,"slower":31,"compared":32},)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("slow_endpoints":[{"endpoint":"gpu1","direction":"sends","shift":-0.125,"slow":2,"cells":3,)"
                      R"("slow_again":1,"confirmed":1,"reproduced":true}],"slow_cells":{"rows":[1],"columns":[0]})"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace linkmatrix
