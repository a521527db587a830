#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <tuple>

#include "measured_plan.hpp"
#include "result_facts.hpp"

namespace linkmatrix {
namespace {

/// Returns how many short samples of a cell are worse than nine tenths of their median.
std::ptrdiff_t slow_ones(const MatrixResult& result, std::size_t row, std::size_t column) {
  const std::vector<double> all = short_samples(result, row, column);
  const double middle = median(all);
  const bool is_latency = result.metric == Metric::latency;
  return std::ranges::count_if(all, [&](double v) { return is_latency ? v > middle / 0.9 : v < 0.9 * middle; });
}

TEST(ShortSampleSizes, OfCopiesAreSmallerAndNoneFitsACache) {
  for (const std::uint64_t bytes : {MiB, 8 * MiB, 64 * MiB, 512 * MiB}) {
    ScriptedBackend backend(2, at_10_gigabytes);
    const MatrixResult result = measured(backend, make_plan(one_way, backend, {.bytes = bytes}), {.short_samples = 66});
    EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 66u);
    EXPECT_EQ(result.short_samples->bytes, std::min(bytes, 8 * MiB));
    EXPECT_EQ(result.short_samples->transfers, 1);
    EXPECT_NEAR(short_samples(result, 0, 1).front(), 10, 1e-9);
  }
}

TEST(ShortSampleSizes, AreAsLongAsTheirShareOfTheTimeAllows) {
  constexpr std::uint64_t bytes = 512 * MiB;
  for (const bool are_dear : {false, true}) {  // a short sample that costs much more than its time is the shortest
    ScriptedBackend backend(2, [](const Copy& copy, std::size_t) { return static_cast<double>(copy.bytes) / 1e12; });
    backend.before_copies = [&](std::span<const Copy> copies) {
      if ((copies.front().bytes == bytes) != are_dear) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    MeasureOptions options{.short_samples = are_dear ? 24 : 1};
    const MatrixResult result = measured(backend, make_plan(one_way, backend, {.bytes = bytes}), options);
    EXPECT_EQ(result.short_samples->bytes, are_dear ? 32 * MiB : 128 * MiB);
    EXPECT_EQ(std::ranges::min(result.short_sample_counts()), are_dear ? 24u : 1u);
  }
}

TEST(ShortSampleSizes, GoOnThroughTheBufferSoThatNoneFindsItsBytesInACache) {
  ScriptedBackend backend(2, at_10_gigabytes);
  std::vector<std::uint64_t> offsets;
  backend.before_copies = [&](std::span<const Copy> copies) {
    if (copies.front().bytes == 8 * MiB) offsets.push_back(copies.front().offset);
  };
  MeasureOptions options{.short_samples = 66};
  measured(backend, make_plan(one_way, backend, {.bytes = 256 * MiB, .offset = 4096}), options);
  ASSERT_GT(offsets.size(), 132u);
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    EXPECT_EQ(offsets[k] % (8 * MiB), 4096u);
    EXPECT_LE(offsets[k], 248 * MiB + 4096);
    EXPECT_EQ(offsets[k + 1], offsets[k] == 248 * MiB + 4096 ? 4096 : offsets[k] + 8 * MiB);
  }
}

TEST(ShortSampleSizes, OfALoadAreAQuarterSoThatItEndsSoonAfterTheSample) {
  ScriptedBackend backend(3, at_10_gigabytes);
  std::set<std::uint64_t> loads;
  backend.before_copies = [&](std::span<const Copy> copies) {
    if (copies.front().bytes != 8 * MiB) return;
    for (const Copy& copy : copies)
      if (copy.background) loads.insert(copy.bytes);
  };
  backend.add_host_memory();
  measured(backend, make_plan(testcase("all_to_host_memcpy_ce"), backend, {.bytes = 256 * MiB}), {.short_samples = 12});
  EXPECT_EQ(loads, std::set<std::uint64_t>{2 * MiB});
}

TEST(ShortSampleSizes, OfSmallCopiesAndLatenciesAreSeveralTransfers) {
  ScriptedBackend backend(2, [](const Copy& copy, std::size_t) { return copy.is_chain() ? 16e-6 : 2e-6; });
  const MatrixResult copies = measured(backend, make_plan(one_way, backend, {.bytes = 4096}), {.short_samples = 66});
  EXPECT_EQ(copies.short_samples->bytes, 4096u);
  EXPECT_GE(copies.short_samples->transfers, 24);
  EXPECT_LE(copies.short_samples->transfers, 100);
  const MatrixResult loads = measured(
      backend, make_plan(testcase("device_to_device_latency_sm"), backend, {.bytes = MiB}), {.short_samples = 66});
  EXPECT_GT(loads.short_samples->transfers, 1);
  EXPECT_EQ(std::ranges::min(loads.short_sample_counts()), 66u);
}

TEST(ShortSampleSizes, OfBothDirectionsAndUnderLoadAreTakenToo) {
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

TEST(ShortSampleSizes, ShowALinkThatLosesHalfInATenthOfItsSamples) {
  for (const auto& [fault, least, most] :
       {std::tuple{"intermittent:dev0->dev1", 1, 20}, std::tuple{"intermittent=50/10/3:dev0->dev1", 1, 20},
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

TEST(ShortSampleSizes, OfAVisibilityTestAreNotTaken) {
  ScriptedBackend backend(2, at_10_gigabytes);
  const Plan plan = make_plan(testcase("device_to_device_visibility_write_sm"), backend, {.bytes = MiB});
  EXPECT_FALSE(measured(backend, plan, {.short_samples = 66}).short_samples);
}

}  // namespace
}  // namespace linkmatrix
