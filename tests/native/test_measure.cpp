#include <gtest/gtest.h>

#include <random>

#include "core/measure.hpp"
#include "core/units.hpp"
#include "p2p/plan.hpp"
#include "scripted_backend.hpp"

namespace linkmatrix {
namespace {

const TestCase& testcase(std::string_view name) {
  for (const TestCase& t : all_testcases())
    if (t.name == name) return t;
  throw std::logic_error("no such test case");
}

const auto& one_way = testcase("device_to_device_memcpy_write_ce");
const auto& both_ways = testcase("device_to_device_bidirectional_memcpy_write_ce");

MatrixResult measured(ScriptedBackend& backend, const TestCase& t, const MeasureOptions& options = {}) {
  Plan plan = make_plan(t, backend, Kernel::cached, 100 * MiB);
  measure(backend, plan.cells, options, Deadline::in(60), plan.result);
  return plan.result;
}

double at_10_gigabytes(const Copy& copy, std::size_t) { return static_cast<double>(copy.bytes) / 10e9; }

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
  EXPECT_NEAR(*result.schedule.interference, 0.5, 1e-9);
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

TEST(Measure, SumsBothDirectionsOverTheLongerTimeAndGivesEach) {
  ScriptedBackend backend(2, [](const Copy& copy, std::size_t) {
    return static_cast<double>(copy.bytes) / (copy.source == 0 ? 10e9 : 5e9);
  });
  const MatrixResult result = measured(backend, both_ways);
  EXPECT_NEAR(*result.values(0, 1), 10, 1e-9);  // 2 B over the slower direction's time, not 10 + 5
  EXPECT_EQ(result.values(0, 1), result.values(1, 0));
  const Values& each = result.parts.at("one_direction").values;
  EXPECT_NEAR(*each(0, 1), 10, 1e-9);
  EXPECT_NEAR(*each(1, 0), 5, 1e-9);
  EXPECT_NEAR(*result.limit(0, 1), 50, 1e-9);
}

TEST(Measure, SeparatesTheOverheadOfACopyFromItsRate) {
  ScriptedBackend backend(2,
                          [](const Copy& copy, std::size_t) { return 4e-6 + static_cast<double>(copy.bytes) / 400e9; });
  const MatrixResult result = measured(backend, one_way);
  EXPECT_NEAR(*result.parts.at("fit_bandwidth").values(0, 1), 400, 0.01);
  EXPECT_NEAR(*result.parts.at("fit_overhead").values(0, 1), 4, 0.01);
  EXPECT_LT(*result.values(0, 1), 400);
}

TEST(Measure, MeasuresAnOutlierAgainAloneAndKeepsTheSecondAnswer) {
  int seen = 0;
  ScriptedBackend backend(4, [&](const Copy& copy, std::size_t at_once) {
    const bool suspect = copy.source == 1 && copy.destination == 2;
    // slow only while its own round is sampled: a passing disturbance
    return at_10_gigabytes(copy, at_once) * (suspect && at_once > 1 && ++seen < 60 ? 1.2 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way, {.concurrency = Concurrency::rounds});
  ASSERT_EQ(result.remeasured.size(), 1u);
  EXPECT_EQ(result.remeasured[0].row, 1u);
  EXPECT_EQ(result.remeasured[0].column, 2u);
  EXPECT_NEAR(result.remeasured[0].before, 10 / 1.2, 1e-6);
  EXPECT_NEAR(*result.values(1, 2), 10, 1e-9);
}

TEST(Measure, KeepsAnOutlierThatIsSlowAloneToo) {
  ScriptedBackend backend(4, [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * (copy.source == 1 && copy.destination == 2 ? 1.2 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way);
  ASSERT_EQ(result.remeasured.size(), 1u);
  EXPECT_NEAR(*result.values(1, 2), 10 / 1.2, 1e-6);
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

template <class Failure>
MatrixResult broken(int at_run) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.before_run = [&](int run) {
    if (run == at_run) throw Failure("device 3 fell off the bus");
  };
  Plan plan = make_plan(one_way, backend, Kernel::cached, MiB);
  EXPECT_THROW(measure(backend, plan.cells, {.concurrency = Concurrency::serial}, Deadline::in(60), plan.result),
               Failure);
  return plan.result;
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

TEST(Plan, LeavesOutPairsWithoutPeerAccessAndSaysSo) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.topology_.peer_access(0, 1) = backend.topology_.peer_access(1, 0) = false;
  const MatrixResult result = measured(backend, one_way);
  EXPECT_EQ(result.status(0, 1), CellStatus::no_peer_access);
  EXPECT_EQ(result.cells_expected(), 4u);
  EXPECT_TRUE(result.complete());
}

TEST(Plan, RefusesAMatrixWithoutACell) {
  ScriptedBackend one(1, at_10_gigabytes);
  EXPECT_THROW(make_plan(one_way, one, Kernel::cached, MiB), BadInput);
  ScriptedBackend none(2, at_10_gigabytes);
  for (auto* cell : {&none.topology_.peer_access(0, 1), &none.topology_.peer_access(1, 0)}) *cell = false;
  EXPECT_THROW(make_plan(one_way, none, Kernel::cached, MiB), BadInput);
}

}  // namespace
}  // namespace linkmatrix
