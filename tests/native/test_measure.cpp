#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "core/measure.hpp"
#include "core/outliers.hpp"
#include "core/sweep.hpp"
#include "core/units.hpp"
#include "device/simulated_fault.hpp"
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
  Plan plan = make_plan(t, backend, {.bytes = 100 * MiB});
  measure(backend, plan.work, options, Deadline::in(60), plan.result);
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

/// By how much the controls of a result got worse, and whether a note says so.
double worst_control(const MatrixResult& result) {
  double worst = 0;
  for (const Remeasured& cell : result.controls)
    worst = std::max(worst, worse_by(result.metric, cell.before, cell.after));
  return worst;
}

bool has_note(const MatrixResult& result, std::string_view text) {
  return std::any_of(result.notes.begin(), result.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST(Measure, MeasuresHealthyCellsBesideAnOutlierAndKeepsTheirFirstAnswer) {
  ScriptedBackend backend(5, [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * (copy.source == 1 && copy.destination == 2 ? 1.2 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way);
  ASSERT_EQ(result.remeasured.size(), 1u);
  ASSERT_EQ(result.controls.size(), 3u) << "from its source, to its destination, and apart from both";
  EXPECT_EQ(result.controls[0].row, 1u);
  EXPECT_NE(result.controls[0].column, 2u);
  EXPECT_NE(result.controls[1].row, 1u);
  EXPECT_EQ(result.controls[1].column, 2u);
  EXPECT_NE(result.controls[2].row, 1u);
  EXPECT_NE(result.controls[2].column, 2u);
  EXPECT_NEAR(worst_control(result), 0, 1e-9);
  EXPECT_FALSE(has_note(result, "control cells"));
}

TEST(Measure, SaysThatTheMachineIsSlowerWhenControlsFallToo) {
  int again = 0;
  // one cell is slow, and from its second measurement on all are
  ScriptedBackend backend(4, [&](const Copy& copy, std::size_t at_once) {
    if (at_once == 1 && copy.bytes == 100 * MiB) ++again;
    const bool suspect = copy.source == 1 && copy.destination == 2;
    return at_10_gigabytes(copy, at_once) * (suspect ? 1.2 : 1.0) * (again > 0 ? 1.25 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way, {.concurrency = Concurrency::rounds});
  ASSERT_EQ(result.remeasured.size(), 1u);
  EXPECT_NEAR(worst_control(result), 0.2, 1e-9);
  EXPECT_TRUE(has_note(result, "the control cells got worse by 20.0 % as well"));
  EXPECT_NEAR(*result.values(1, 0), 10, 1e-9) << "what was measured first stays";
}

TEST(Measure, SaysHowManyOutliersItDidNotMeasureAgain) {
  // every cell from device 0 and to it is slow: 18 of 90
  ScriptedBackend backend(10, [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * (copy.source == 0 || copy.destination == 0 ? 1.2 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way);
  EXPECT_EQ(result.remeasured.size(), most_remeasured);
  EXPECT_EQ(result.controls.size(), most_controls);
  EXPECT_TRUE(has_note(result, "2 of 18 outlying cells were not measured again: at most 16 are"));
  for (const Remeasured& cell : result.controls) EXPECT_TRUE(cell.row != 0 && cell.column != 0);
}

TEST(Measure, NotesOutliersForWhichThereWasNoTime) {
  ScriptedBackend backend(4, [](const Copy& copy, std::size_t at_once) {
    return at_10_gigabytes(copy, at_once) * (copy.source == 1 && copy.destination == 2 ? 1.2 : 1.0);
  });
  const MatrixResult result = measured(backend, one_way, {.max_seconds = 1e-9});
  EXPECT_TRUE(result.remeasured.empty() && result.controls.empty());
  EXPECT_TRUE(has_note(result, "1 of 1 outlying cells were not measured again: the time for this matrix was over"));
}

TEST(Controls, AreOfTheClassOfTheOutlierAndEachIsTakenOnce) {
  const std::vector<Standing> outliers{{0, 0, 1, "NV18", 0.2}, {1, 0, 2, "NV18", 0.1}, {2, 5, 6, "SYS", 0.1}};
  std::vector<Standing> healthy{{10, 0, 3, "SYS", 0},  {11, 0, 4, "NV18", 0.01}, {12, 0, 5, "NV18", -0.001},
                                {13, 3, 1, "NV18", 0}, {14, 3, 4, "NV18", 0},    {15, 4, 3, "NV18", 0}};
  EXPECT_EQ(choose_controls(outliers, healthy), (std::vector<std::size_t>{12, 13, 14, 11}));
  EXPECT_TRUE(choose_controls({}, healthy).empty());
  EXPECT_TRUE(choose_controls(outliers, {}).empty());
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
  Plan plan = make_plan(one_way, backend, {});
  EXPECT_THROW(measure(backend, plan.work, {.concurrency = Concurrency::serial}, Deadline::in(60), plan.result),
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

TEST(Plan, GivesCopiesThatMeetBuffersOfTheirOwn) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.add_host_memory();
  for (const TestCase& t : all_testcases()) {
    if (t.engine == Engine::mpi) continue;
    for (const Cell& cell : make_plan(t, backend, {}).work.cells) {
      std::set<std::pair<int, int>> sources, destinations;
      for (const Copy& copy : cell.copies) {
        EXPECT_TRUE(sources.insert({copy.source, copy.source_slot}).second) << t.name;
        EXPECT_TRUE(destinations.insert({copy.destination, copy.destination_slot}).second) << t.name;
      }
    }
  }
}

TEST(Plan, MeasuresTheTriangleOrTheDiagonalWhereAsked) {
  ScriptedBackend backend(4, at_10_gigabytes);
  const auto statuses = [&](const PlanOptions& options) {
    Plan plan = make_plan(one_way, backend, options);
    measure(backend, plan.work, {}, Deadline::in(60), plan.result);
    EXPECT_TRUE(plan.result.complete());
    return plan.result.status;
  };
  const auto triangle = statuses({.triangle = true}), local = statuses({.local_copy = true});
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      EXPECT_EQ(triangle(r, c), r < c ? CellStatus::ok : CellStatus::not_applicable);
      EXPECT_EQ(local(r, c), CellStatus::ok);
    }
}

TEST(Plan, TakesTheUsersLimits) {
  ScriptedBackend backend(2, at_10_gigabytes);
  Plan plan = make_plan(both_ways, backend, {.limits = {{"NV1", 20.0}}});
  EXPECT_EQ(plan.result.limit(0, 1), 40.0);
  measure(backend, plan.work, {}, Deadline::in(60), plan.result);
  plan.result.add_utilisation();
  EXPECT_NEAR(*plan.result.parts.at("utilisation").values(0, 1), 50, 1e-6);
}

TEST(Sweep, FitsEveryCellOverAllSizes) {
  ScriptedBackend backend(3, [](const Copy& copy, std::size_t) {
    return 1e-6 * (1 + copy.source) + static_cast<double>(copy.bytes) / (1e9 * (20 + copy.destination));
  });
  std::vector<MatrixResult> results;
  for (const std::uint64_t bytes : sweep_sizes(KiB, 64 * MiB, 4)) {
    Plan plan = make_plan(one_way, backend, {.bytes = bytes});
    measure(backend, plan.work, {.fit = false}, Deadline::in(60), plan.result);
    results.push_back(plan.result);
  }
  fit_sweep(results);
  const auto& parts = results.back().parts;
  EXPECT_NEAR(*parts.at("fit_overhead").values(1, 2), 2, 1e-6);
  EXPECT_NEAR(*parts.at("fit_bandwidth").values(1, 2), 22, 1e-6);
  EXPECT_NEAR(*parts.at("fit_error").values(1, 2), 0, 1e-6);
}

TEST(SharedLink, IsFoundAndItsPairsAreMeasuredOneAfterTheOther) {
  const auto backend =
      with_simulated_fault(std::make_unique<ScriptedBackend>(4, at_10_gigabytes), parse_simulated_fault("shared:dev1"));
  Plan plan = make_plan(one_way, *backend, {.bytes = MiB});
  measure(*backend, plan.work, {}, Deadline::in(60), plan.result);
  EXPECT_FALSE(plan.result.schedule.at_once);
  EXPECT_NEAR(*plan.result.schedule.interference, 0.2, 1e-6);
  for (const auto& value : plan.result.values) {
    if (value) {
      EXPECT_NEAR(*value, 10, 1e-6);
    }
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
  EXPECT_THROW(make_plan(one_way, one, {}), BadInput);
  ScriptedBackend none(2, at_10_gigabytes);
  for (auto* cell : {&none.topology_.peer_access(0, 1), &none.topology_.peer_access(1, 0)}) *cell = false;
  EXPECT_THROW(make_plan(one_way, none, {}), BadInput);
}

}  // namespace
}  // namespace linkmatrix
