#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/sweep.hpp"
#include "measured_matrix.hpp"
#include "measured_plan.hpp"

namespace linkmatrix {
namespace {

TEST(Measure, FillsEveryCellOnceWithItsOwnPair) {
  ScriptedBackend backend(5, [](const Copy& copy, std::size_t) {
    return static_cast<double>(copy.bytes) / (1e9 * (10 * copy.source + copy.destination + 1));
  });
  const MatrixResult result = measured(backend, one_way, {.concurrency = Concurrency::serial});
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(result.verified(), true);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t c = 0; c < 5; ++c) {
      if (r == c) {
        EXPECT_FALSE(result.values(r, c));
        EXPECT_EQ(result.status(r, c), CellStatus::not_applicable);
      } else {
        EXPECT_NEAR(*result.values(r, c), 10.0 * static_cast<double>(r) + static_cast<double>(c) + 1, 1e-9);
      }
    }
}

TEST(Measure, RunsDisjointPairsAtOnceWhereThatChangesNothing) {
  ScriptedBackend backend(8, at_10_gigabytes);
  const MatrixResult result = measured(backend, one_way);
  EXPECT_TRUE(result.schedule.at_once);
  EXPECT_EQ(result.schedule.rounds, 14u);
  EXPECT_EQ(result.schedule.pairs_at_once, 4u);
  EXPECT_EQ(result.schedule.interference, 0.0);
}

TEST(Measure, GoesDownToWhatDoesNotInterfere) {
  // Two copies at once are free, more cost 10 %.
  ScriptedBackend backend(8, [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * (at_once > 2 ? 1.1 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way);
  EXPECT_EQ(result.schedule.pairs_at_once, 2u);
  EXPECT_NEAR(*result.values(0, 1), 10, 1e-9);
}

TEST(Measure, GoesSerialWhereEveryNeighbourHurtsAndSaysByHowMuch) {
  ScriptedBackend backend(4, [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * static_cast<double>(at_once);
  });
  const MatrixResult result = measured(backend, one_way);
  EXPECT_FALSE(result.schedule.at_once);
  EXPECT_EQ(result.schedule.pairs_at_once, 1u);
  EXPECT_EQ(result.schedule.interference, 0.0) << "none is in the values";
  EXPECT_TRUE(
      has_note(result, "concurrent pairs change the value of a pair by 50.0 %: the pairs were measured one by one"));
  EXPECT_NEAR(*result.values(2, 3), 10, 1e-9);
}

TEST(Measure, NoiseDoesNotExcuseInterference) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.02);  // three sigma are 6 %
  ScriptedBackend backend(4, [&](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * noise(random) * (at_once > 1 ? 1.05 : 1.0);
  });
  EXPECT_FALSE(measured(backend, one_way).schedule.at_once);
}

TEST(Measure, SumsBothDirectionsWhileBothAreBusyAndGivesEach) {
  ScriptedBackend backend(2, [](const Copy& copy, std::size_t) {
    return static_cast<double>(copy.bytes) / (copy.source == 0 ? 10e9 : 5e9);
  });
  const MatrixResult result = measured(backend, bidirectional_write);
  EXPECT_NEAR(*result.values(0, 1), 15, 1e-9);  // the faster one is repeated twice as often
  EXPECT_EQ(result.values(0, 1), result.values(1, 0));
  const Values& each = result.parts.at("one_direction").values;
  EXPECT_NEAR(*each(0, 1), 10, 1e-9);
  EXPECT_NEAR(*each(1, 0), 5, 1e-9);
  EXPECT_NEAR(*result.limit(0, 1), 50, 1e-9);
}

TEST(Measure, SaysWhatDidNotConverge) {
  std::mt19937 random(4);
  std::normal_distribution<double> noise(1, 0.1);
  ScriptedBackend backend(2, [&](const Copy& copy, std::size_t n) { return at_10_gigabytes(copy, n) * noise(random); });
  const MatrixResult result = measured(backend, one_way);
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(result.converged(0, 1), false);
  EXPECT_FALSE(result.notes.empty());
}

TEST(Measure, GivesEveryCellOneSampleAfterMaxTime) {
  ScriptedBackend backend(4, at_10_gigabytes);
  const MatrixResult result = measured(backend, one_way, {.max_seconds = 1e-9});
  EXPECT_TRUE(result.complete());
  for (const auto& n : result.samples) EXPECT_LE(n.value_or(1), 1);
}

TEST(Measure, MarksCorruptCellsAndIsNotVerified) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.corrupt = [](const Copy& copy) { return copy.destination == 2; };
  const MatrixResult result = measured(backend, one_way);
  EXPECT_EQ(result.status(0, 2), CellStatus::corrupt);
  EXPECT_EQ(result.status(2, 0), CellStatus::ok);
  EXPECT_EQ(result.verified(), false);
  EXPECT_FALSE(result.complete());
  EXPECT_EQ(result.cells_verified, 4u);
}

TEST(Measure, OneWrongByteIsWrongData) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.corrupt = [](const Copy& copy) { return copy.destination == 2; };
  backend.wrong_bytes = 1;
  EXPECT_EQ(measured(backend, one_way).status(0, 2), CellStatus::corrupt);
}

TEST(Measure, LatenciesMayVaryMoreThanBandwidthsBeforeTheyAreCalledUnsettled) {
  const auto settled = [](Metric metric) {
    ScriptedSampler sampler(ten);
    sampler.script = [](const CellIndex&, const SampleRule&, Sampled& answer) {
      for (std::size_t s = 0; s < answer.samples.size(); ++s) answer.samples[s].whole.end *= s % 2 == 0 ? 1 : 1.01;
    };
    return measured(sampler, 2, {}, Deadline::never(), metric).results.front().converged(0, 1);
  };
  EXPECT_EQ(settled(Metric::latency), true);
  EXPECT_EQ(settled(Metric::bandwidth), false);
}

template <class Failure>
MatrixResult broken(int at_run) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.before_run = [&](int run) {
    if (run == at_run) throw Failure("device 3 fell off the bus");
  };
  return interrupted<Failure>(backend, make_plan(one_way, backend, {}), {.concurrency = Concurrency::serial});
}

TEST(Measure, KeepsWhatWasMeasuredWhenADeviceFails) {
  const MatrixResult result = broken<DeviceError>(20);
  EXPECT_FALSE(result.complete());
  EXPECT_EQ(result.cells(CellStatus::error), 1u);
  EXPECT_GT(result.cells(CellStatus::ok), 0u);
  EXPECT_GT(result.cells(CellStatus::not_run), 0u);
}

TEST(Measure, KeepsWhatWasMeasuredWhenTimeRunsOut) {
  const MatrixResult result = broken<TimedOut>(20);
  EXPECT_EQ(result.cells(CellStatus::timeout), 1u);
  EXPECT_GT(result.cells(CellStatus::ok), 0u);
}

TEST(Measure, RefusesATimeThatNoClockGives) {
  for (const double seconds : {0.0, -1.0, std::nan("")}) {
    ScriptedBackend backend(2, [=](const Copy&, std::size_t) { return seconds; });
    EXPECT_THROW(measured(backend, one_way), DeviceError) << seconds;
  }
}

TEST(Measure, LeavesBackgroundCopiesOutOfTheValue) {
  ScriptedBackend backend(3, [](const Copy& copy, std::size_t) { return copy.background ? 7.0 : 1e-2; });
  backend.add_host_memory();
  const MatrixResult result = measured(backend, testcase("all_to_host_memcpy_ce"));
  EXPECT_EQ(backend.widest, 3u) << "the others must copy too";
  for (std::size_t r = 0; r < 3; ++r) EXPECT_NEAR(*result.values(r, 0), 100 * MiB * 1e-9 / 1e-2, 1e-9);
  EXPECT_EQ(result.cells_verified, 3u);
}

TEST(Measure, AddsUpWhatADeviceTakesInAndNamesTheSlowestShare) {
  ScriptedBackend backend(4, [](const Copy& copy, std::size_t) { return copy.source == 3 ? 2e-2 : 1e-2; });
  const MatrixResult result = measured(backend, testcase("all_to_one_write_ce"));
  EXPECT_EQ(result.rows, (std::vector<std::string>{"all"}));
  EXPECT_NEAR(*result.values(0, 0), 3 * 100 * MiB * 1e-9 / 2e-2, 1e-9);
  EXPECT_NEAR(*result.values(0, 3), 3 * 100 * MiB * 1e-9 / 1e-2, 1e-9);
  EXPECT_NEAR(*result.parts.at("slowest_copy").values(0, 0), 100 * MiB * 1e-9 / 2e-2, 1e-9);
}

TEST(Measure, HoldsEveryCellUnderStressAgainstTheSameCellAlone) {
  const auto seconds = [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) / (at_once == 5 && copy.source == 2 ? 0.9 : 1);
  };
  ScriptedBackend backend(5, seconds);
  const MatrixResult result = measured(backend, testcase("device_to_device_memcpy_write_ce_stress"));
  EXPECT_EQ(result.schedule.rounds, 4u);
  EXPECT_EQ(result.schedule.pairs_at_once, 5u);
  EXPECT_TRUE(result.complete());
  const Values& loss = result.parts.at("loss").values;
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t c = 0; c < 5; ++c)
      if (r != c) {
        EXPECT_NEAR(*loss(r, c), r == 2 ? 10 : 0, 1e-6);
        EXPECT_NEAR(*result.parts.at("isolated").values(r, c), 10, 1e-6);
      }
}

TEST(Sweep, FitsEveryCellOverAllSizes) {
  ScriptedBackend backend(3, [](const Copy& copy, std::size_t) {
    return 1e-6 * (1 + copy.source) + static_cast<double>(copy.bytes) / (1e9 * (20 + copy.destination));
  });
  std::vector<MatrixResult> results;
  for (const std::uint64_t bytes : sweep_sizes(KiB, 64 * MiB, 4)) {
    results.push_back(measured(backend, make_plan(one_way, backend, {.bytes = bytes})));
  }
  fit_sweep(results);
  const auto& parts = results.back().parts;
  EXPECT_NEAR(*parts.at("fit_overhead").values(1, 2), 2, 1e-6);
  EXPECT_NEAR(*parts.at("fit_bandwidth").values(1, 2), 22, 1e-6);
  EXPECT_NEAR(*parts.at("fit_error").values(1, 2), 0, 1e-6);
}

TEST(Measure, FindsASharedLinkAndItsPairsAreMeasuredOneAfterTheOther) {
  ScriptedBackend backend(4, at_10_gigabytes);
  const MatrixResult result =
      measured(backend, make_plan(one_way, backend, {.bytes = MiB}), {}, parse_simulated_fault("shared:dev1"));
  EXPECT_FALSE(result.schedule.at_once);
  EXPECT_TRUE(has_note(result, "concurrent pairs change the value of a pair by 20.0 %"));
  for (const auto& value : result.values) {
    if (value) {
      EXPECT_NEAR(*value, 10, 1e-6);
    }
  }
}

}  // namespace
}  // namespace linkmatrix
