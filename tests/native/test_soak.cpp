#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "core/heating.hpp"
#include "core/soak.hpp"
#include "device/host/host_backend.hpp"
#include "measured_plan.hpp"
#include "p2p/options.hpp"
#include "p2p/soak.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

TEST(Series, KeepsMeanDeviationAndExtremesAndWhenTheWorstWas) {
  Series bandwidth, latency;
  double at = 0;
  for (const double value : {4.0, 2.0, 6.0, 4.0}) {
    bandwidth.add(value, at, at / 4, false);
    latency.add(value, at, at / 4, true);
    ++at;
  }
  EXPECT_EQ(bandwidth.count, 4u);
  EXPECT_DOUBLE_EQ(bandwidth.mean, 4);
  EXPECT_DOUBLE_EQ(bandwidth.m2, 8);
  EXPECT_EQ(bandwidth.least, 2);
  EXPECT_EQ(bandwidth.most, 6);
  EXPECT_EQ(bandwidth.worst_at, 1);
  EXPECT_EQ(latency.worst_at, 2);
}

TEST(Series, HasItsBinsWhateverItsNumberOfValues) {
  Series series;
  for (int i = 0; i <= 100'000; ++i) series.add(i < 50'000 ? 1 : 3, i, i / 100'000.0, false);
  ASSERT_EQ(series.bins.size(), Soak::bins);
  EXPECT_DOUBLE_EQ(series.bins.front().mean, 1);
  EXPECT_DOUBLE_EQ(series.bins.back().mean, 3);
  series.add(3, 200'000, 2, false);
  EXPECT_EQ(series.bins.size(), Soak::bins) << "what comes after the time that was asked for is of the last bin";
}

TEST(Soak, KeepsTheFirstEventsAndCountsTheRest) {
  Soak soak;
  for (std::size_t i = 0; i < Soak::most_events + 7; ++i) soak.note(static_cast<double>(i), "held back");
  EXPECT_EQ(soak.events.size(), Soak::most_events);
  EXPECT_EQ(soak.events_left_out, 7u);
}

TEST(Heating, HasAProductThatIsExactInEveryOrderAndASumThatEveryBitChanges) {
  constexpr std::uint32_t n = 32;
  const std::vector<float> a = heating_matrix(1, n), b = heating_matrix(2, n);
  std::vector<float> product;
  multiply(a, b, n, product);
  EXPECT_EQ(product_checksum(product), expected_checksum(n));
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      float backwards = 0;
      for (std::size_t k = n; k-- > 0;) backwards = std::fma(a[row * n + k], b[k * n + column], backwards);
      ASSERT_EQ(backwards, product[row * n + column]);
    }
  for (int bit = 0; bit < 32; ++bit) {
    std::vector<float> wrong = product;
    wrong[77] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(wrong[77]) ^ (1u << bit));
    EXPECT_NE(product_checksum(wrong), expected_checksum(n)) << bit;
  }
}

TEST(HostBackend, IsHeatedAndSaysWhichDeviceComputesAWrongBit) {
  const auto backend = make_host_backend({});
  for (const std::optional<int> flips : {std::optional<int>(), std::optional<int>(1)}) {
    const std::vector<Heated> heated = backend->heat(0.02, flips, Deadline::in(60));
    ASSERT_GE(heated.size(), 2u);
    for (const Heated& one : heated) {
      EXPECT_GE(one.products, 1u);
      EXPECT_EQ(one.wrong, flips == one.endpoint ? 1u : 0u);
    }
  }
}

/// Measures with a scripted back end, as a run would.
class ScriptedMeasurer final : public Measurer {
 public:
  explicit ScriptedMeasurer(ScriptedBackend& backend) : backend_{backend} {}
  Machine& machine() override { return backend_; }
  std::optional<std::string> why_not(const TestCase&, const PlanOptions&) const override { return std::nullopt; }
  std::uint64_t default_bytes(const TestCase&) const override { return MiB; }
  bool has_fixed_size(const TestCase&) const override { return false; }
  MatrixResult plan(const TestCase& t, const PlanOptions& options) override {
    return (plan_ = make_plan(t, backend_, options)).result;
  }
  bool is_affected_by(const SimulatedFault&, Concurrency) override { return true; }
  void measure(const MeasureOptions& how, Deadline deadline, Guarded<Record>& record) override {
    if (++passes == last) stop_signal = SIGTERM;
    measure_plan(backend_, plan_, how, deadline, record);
  }
  std::vector<Heated> heat(double, std::optional<int>, Deadline) override {
    return {{0, 10, 0}, {1, 10, wrong_at == passes ? 1u : 0u}};
  }

  int passes = 0, last = -1, wrong_at = -1;

 private:
  ScriptedBackend& backend_;
  Plan plan_;
};

struct Soaks : testing::Test {
  void TearDown() override { stop_signal = 0; }

  /// Returns a soak that a signal ends after a number of passes.
  Soak soaked(int passes) {
    measurer.last = passes;
    const TestCase& t = testcase("device_to_device_memcpy_write_ce");
    const PlanOptions how{.bytes = 100 * MiB};
    const std::vector<SoakTestCase> all{{t, how, measurer.plan(t, how)}};
    EXPECT_THROW(soak(measurer, backend, all, {.seconds = 3600, .burst = 0, .measure = {}}, std::nullopt,
                      Deadline::never(), record),
                 TimedOut);
    return record.read([](const Record& r) { return *r.soak; });
  }

  ScriptedBackend backend{2, at_10_gigabytes};
  ScriptedMeasurer measurer{backend};
  Guarded<Record> record;
};

TEST_F(Soaks, EndedByASignalHaveWhatWasMeasured) {
  const Soak seen = soaked(4);
  EXPECT_EQ(seen.passes, 3u);
  EXPECT_EQ(seen.matrices.front().series(0, 1).count, 3u);
  EXPECT_NEAR(seen.matrices.front().series(0, 1).mean, 10, 1e-6);
  EXPECT_EQ(seen.matrices.front().series(0, 0).count, 0u);
  EXPECT_EQ(seen.heated[1].products, 40u);
}

TEST_F(Soaks, FailWithADeviceThatComputesAWrongBitAndSayWhen) {
  measurer.wrong_at = 1;
  const Soak seen = soaked(3);
  EXPECT_EQ(seen.failures, 1u);
  EXPECT_EQ(seen.heated[1].wrong, 1u);
  ASSERT_EQ(seen.events.size(), 1u);
  EXPECT_EQ(seen.events.front().text, "dev1 computed wrong bits in 1 of 10 products");
  EXPECT_EQ(record.read(judge).word, std::string("FAIL"));
}

TEST_F(Soaks, FailWithACellThatIsWrongInALaterPass) {
  backend.corrupt = [&](const Copy& copy) { return measurer.passes == 2 && copy.source == 0; };
  const Soak seen = soaked(4);
  EXPECT_EQ(seen.failures, 1u);
  EXPECT_EQ(seen.events.front().text, "device_to_device_memcpy_write_ce: dev0->dev1 is corrupt");
  EXPECT_EQ(record.read(judge).word, std::string("FAIL"));
}

TEST(Durations, AreSecondsMinutesOrHours) {
  EXPECT_EQ(parse_duration("--soak", "90"), 90);
  EXPECT_EQ(parse_duration("--soak", "90s"), 90);
  EXPECT_EQ(parse_duration("--soak", "1.5m"), 90);
  EXPECT_EQ(parse_duration("--soak", "2h"), 7200);
  for (const char* bad : {"", "m", "-1m", "0s", "1d", "1mm", "1e9h", "nan"})
    EXPECT_THROW(parse_duration("--soak", bad), BadInput) << bad;
}

}  // namespace
}  // namespace linkmatrix
