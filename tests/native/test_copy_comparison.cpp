#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "measured_plan.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

/// Sets the status of the first `times` verifications of a cell from device 1 to device 2.
void fail_verification(ScriptedBackend& backend, CellStatus status, int times) {
  backend.before_verify = [=, left = times](std::span<const Copy> copies) mutable {
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (copies[c].source == 1 && copies[c].destination == 2 && left-- > 0)
        throw CopiesFailed("dev1->dev2 did not finish in time", {{c, status, std::nullopt}});
  };
}

TEST(CopySampler, ACellWhoseDataIsNotComparedInTimeIsMeasuredAndComparedOnceMore) {
  ScriptedBackend backend(4, at_10_gigabytes);
  fail_verification(backend, CellStatus::timeout, 1);
  const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
  EXPECT_TRUE(record.results.front().complete());
  EXPECT_EQ(record.results.front().verified(), true);
  EXPECT_EQ(judge(record).word, "PASS");
}

TEST(CopySampler, ACellWhoseDataIsNeverComparedHasAStatusAndNoValue) {
  for (const CellStatus status : {CellStatus::timeout, CellStatus::error}) {
    ScriptedBackend backend(4, at_10_gigabytes);
    fail_verification(backend, status, 1000);
    const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
    const MatrixResult& result = record.results.front();
    EXPECT_EQ(result.status(1, 2), status);
    EXPECT_FALSE(result.values(1, 2)) << "what was not compared is no value";
    EXPECT_EQ(result.cells(CellStatus::ok), 11u);
    EXPECT_EQ(result.cells_verified, 11u) << "the others of its round are compared all the same";
    EXPECT_TRUE(record.lost.empty());
    EXPECT_EQ(judge(record).word, status == CellStatus::timeout ? "TIMEOUT" : "ERROR");
    EXPECT_NE(judge(record).error.value_or("").find("dev1->dev2"), std::string::npos);
  }
}

/// Returns one cell of two devices with `samples` samples, each of several transfers at 10 GB/s.
Sampled sampled(ScriptedBackend& backend, int samples, CopySampler::SimulatedCorruption fault = {},
                std::uint64_t bytes = 8 * MiB) {
  CopySampler sampler(backend, {{0, 1, {{.source = 0, .destination = 1, .bytes = bytes}}}}, Metric::bandwidth, 1, false,
                      Deadline::never());
  sampler.set_simulated_fault(std::move(fault));
  return sampler.sample({{0, 1}}, {.stop = {.min_samples = samples, .max_samples = samples}}).front();
}

TEST(CopySampler, FindsEverySampleThatIsWrong) {
  for (const int every : {1, 2, 7})
    for (int first = 1; first <= every; ++first) {
      ScriptedBackend backend(2, at_10_gigabytes);
      backend.wrong_after = [=](const Copy&, int sample) { return sample % every == first % every; };
      const Sampled found = sampled(backend, 7);
      const int wrong = (7 - first) / every + 1;
      EXPECT_EQ(found.status, CellStatus::corrupt) << "every " << every << "th from the " << first << "th on";
      EXPECT_EQ(found.coverage.samples, 7u);
      EXPECT_EQ(found.coverage.wrong_samples, static_cast<std::uint64_t>(wrong));
      EXPECT_EQ(found.samples.size(), 7u);
      EXPECT_TRUE(found.why.starts_with(std::to_string(wrong) + " of 7 samples")) << found.why;
    }
}

TEST(CopySampler, ComparesTheLastTransferOfEachSampleAndNoneOfTheOthers) {
  ScriptedBackend backend(2, at_10_gigabytes);
  backend.wrong_after = [](const Copy&, int) { return false; };
  const Sampled found = sampled(backend, 66);
  EXPECT_EQ(found.status, CellStatus::ok);
  EXPECT_TRUE(found.verified);
  EXPECT_GT(found.transfers, 1);
  EXPECT_EQ(found.coverage.transfers, static_cast<std::uint64_t>(66 * found.transfers));
  EXPECT_EQ(found.coverage.compared_transfers, 66u);
  EXPECT_EQ(found.coverage.wrong_samples, 0u);
  EXPECT_EQ(backend.portions.front().every, 1u) << "all bytes of the first sample";
  sampled(backend, 66, {}, 16);
  EXPECT_EQ(backend.portions.back().every, 1u) << "no copy is so small that no block of it is compared";
}

TEST(CopySampler, WhatASampleLeftIsWrongForTheNext) {
  ScriptedBackend backend(2, at_10_gigabytes);
  std::vector<std::uint64_t> windows;
  backend.before_copies = [&](std::span<const Copy> copies) { windows.push_back(copies.front().shift); };
  backend.wrong_after = [](const Copy&, int) { return false; };
  sampled(backend, 7);
  ASSERT_EQ(backend.laid_before_run.size(), 1u) << "what was there before the first sample is spoiled once";
  for (std::size_t run = static_cast<std::size_t>(backend.laid_before_run.front().first) + 1; run < windows.size();
       ++run)
    EXPECT_NE(windows[run], windows[run - 1]);
}

TEST(CopySampler, ADrillSpoilsTheSamplesThatItNames) {
  ScriptedBackend backend(2, at_10_gigabytes);
  backend.wrong_after = [&](const Copy&, int) { return backend.laid_before_run.back().first == backend.runs; };
  const Sampled found = sampled(backend, 15, {7, [](const Copy&) { return true; }});
  EXPECT_EQ(found.coverage.wrong_samples, 2u);
  EXPECT_EQ(sampled(backend, 15, {7, [](const Copy&) { return false; }}).coverage.wrong_samples, 0u);
}

TEST(CopySampler, APartialCellWithWrongDataIsCorrupt) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.gone[3] = "it hangs";
  backend.wrong_after = [](const Copy& copy, int) { return copy.source == 0 && copy.destination == 1; };
  const MatrixResult result = record_of(backend, "all_to_one_write_ce").results.front();
  EXPECT_EQ(result.status(0, 1), CellStatus::corrupt);
  EXPECT_EQ(result.cells(CellStatus::partial), 2u);
}

TEST(CopySampler, TheRecordHasHowManySamplesWereWrong) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.wrong_after = [](const Copy& copy, int) { return copy.source == 0 && copy.destination == 1; };
  const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.status(0, 1), CellStatus::corrupt);
  ASSERT_EQ(result.corrupted.size(), 1u);
  const Coverage& cell = result.corrupted.at({0, 1});
  EXPECT_EQ(cell.wrong_samples, cell.samples);
  EXPECT_GE(cell.samples, 7u);
  EXPECT_EQ(result.coverage.wrong_samples, cell.wrong_samples);
  EXPECT_GE(result.coverage.samples, 6 * 7u);
  EXPECT_NE(to_json(record).find("\"wrong\":[{\"row\":\"dev0\",\"column\":\"dev1\""), std::string::npos);
}

}  // namespace
}  // namespace linkmatrix
