#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/record.hpp"
#include "measured_plan.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

bool involves(const Copy& copy, int endpoint) { return copy.source == endpoint || copy.destination == endpoint; }

TEST(CopySampler, TakesASumFromTheFirstStartToTheLastEnd) {
  // The second direction starts 4 % of its time later. The directions still run concurrently, and the sum includes the
  // delay.
  ScriptedBackend backend(2, at_10_gigabytes);
  backend.late = [](const Copy& copy) { return copy.source == 1 ? 0.04 * at_10_gigabytes(copy, 1) : 0; };
  const MatrixResult result = record_of(backend, "device_to_device_bidirectional_memcpy_write_ce").results.front();
  EXPECT_LT(*result.values(0, 1), 20) << "twice 10 GB/s would be the sum of two rates, not of one timeline";
  EXPECT_NEAR(*result.parts.at("one_direction").values(1, 0), 10, 1e-6);
}

TEST(CopySampler, SaysThatCopiesCannotStartTogetherAndStillTellsTheTruth) {
  // As on one core: the second direction begins after the first.
  ScriptedBackend backend(2, at_10_gigabytes);
  backend.late = [](const Copy& copy) { return copy.source == 1 ? at_10_gigabytes(copy, 1) * copy.repeats : 0; };
  const MatrixResult result = record_of(backend, "device_to_device_bidirectional_memcpy_write_ce").results.front();
  EXPECT_NEAR(*result.values(0, 1), 10, 1e-6);
  EXPECT_TRUE(has_note(result, "did not start together"));
}

TEST(CopySampler, ThrowsASampleAwayThatBeganLateAndNoneThatWasSlow) {
  ScriptedBackend backend(
      2, [](const Copy& copy, std::size_t n) { return at_10_gigabytes(copy, n) * (copy.source == 1 ? 4 : 1); });
  int run = 0;
  backend.late = [&](const Copy& copy) { return copy.source == 1 && ++run % 5 == 3 ? 1.0 : 0.0; };
  const MatrixResult result = record_of(backend, "device_to_device_bidirectional_memcpy_write_ce").results.front();
  EXPECT_NEAR(*result.values(0, 1), 12.5, 1e-6);
  for (const double value : result.sampled(0, 1)) EXPECT_NEAR(value, 12.5, 1e-6);
}

TEST(CopySampler, WithoutAWarmUpEachTransferIsASampleAndTheFirstOneCounts) {
  for (const std::string name :
       {"device_to_device_memcpy_write_ce", "device_to_device_bidirectional_memcpy_write_ce"}) {
    int longest = 0, runs = 0;
    ScriptedBackend backend(2, [&](const Copy& copy, std::size_t n) {
      longest = std::max(longest, copy.repeats);
      return at_10_gigabytes(copy, n) * (runs == 1 ? 10 : 1) / 100;  // of 100 µs, which a warm-up would make many of
    });
    backend.before_run = [&](int run) { runs = run; };
    const MatrixResult result = measured(backend, testcase(name), {.warmup = 0});
    EXPECT_EQ(longest, 1) << name;
    EXPECT_TRUE(result.complete());
    longest = 0;
    measured(backend, testcase(name), {});
    EXPECT_GT(longest, 1) << name;
  }
}

TEST(CopySampler, AllPairsAreWarmedUpBothWaysAtOnceBeforeTheFirstSampleWhereThatIsAskedFor) {
  for (const bool asked : {true, false}) {
    std::vector<std::vector<std::pair<int, int>>> runs;
    ScriptedBackend backend(3, at_10_gigabytes);
    backend.before_copies = [&](std::span<const Copy> copies) {
      auto& ways = runs.emplace_back();
      for (const Copy& copy : copies) ways.emplace_back(copy.source, copy.destination);
    };
    MeasureOptions how;
    how.warm_bidirectional = asked;
    EXPECT_TRUE(measured(backend, testcase("device_to_device_memcpy_write_ce"), how).complete());
    const auto is_both_ways = [](const auto& ways) {
      return ways.size() == 2 && ways[0].first == ways[1].second && ways[0].second == ways[1].first;
    };
    std::set<std::pair<int, int>> warm;
    auto run = runs.begin();
    for (; run != runs.end() && is_both_ways(*run); ++run) warm.insert(run->begin(), run->end());
    EXPECT_EQ(warm.size(), asked ? 6u : 0u) << "each pair, each way";
    EXPECT_TRUE(std::none_of(run, runs.end(), is_both_ways)) << "and then no more";
  }
}

TEST(CopySampler, APairThatFailsWhileItIsWarmedUpIsNamedWhereItIsMeasured) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.gone[2] = "it hangs";
  MeasureOptions how;
  how.warm_bidirectional = true;
  const MatrixResult result = measured(backend, testcase("device_to_device_memcpy_write_ce"), how);
  EXPECT_EQ(result.cells(CellStatus::ok), 2u);
  EXPECT_EQ(result.cells(CellStatus::error), 4u);
}

TEST(CopySampler, AnEndpointWithoutAContextCostsItsRowAndColumn) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.gone[3] = "out of memory: process 4711 (python) holds 139 GiB";
  const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.cells(CellStatus::ok), 6u);
  EXPECT_EQ(result.cells(CellStatus::error), 6u);
  ASSERT_EQ(record.lost.size(), 1u);
  EXPECT_EQ(record.lost.front().label, "dev3");
  EXPECT_NE(record.lost.front().why.find("python"), std::string::npos);
}

TEST(CopySampler, ALostEndpointCostsItsOwnFanAndMakesTheOthersPartial) {
  for (const std::string name : {"all_to_one_write_ce", "one_to_all_write_ce"}) {
    ScriptedBackend backend(4, at_10_gigabytes);
    backend.gone[3] = "it hangs";
    const Record record = record_of(backend, name);
    const MatrixResult& result = record.results.front();
    ASSERT_EQ(record.lost.size(), 1u);
    EXPECT_EQ(result.cells(CellStatus::error), 1u);
    EXPECT_EQ(result.cells(CellStatus::partial), 3u);
    const bool inbound = name.starts_with("all");
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_NEAR(inbound ? *result.values(0, d) : *result.values(d, 0), 20, 1e-6) << "of two, not of three";
    EXPECT_FALSE(result.complete()) << "no fan was measured whole, and nobody may take it for that";
    EXPECT_EQ(result.verified(), true);
    EXPECT_TRUE(result.remeasured.empty());
    EXPECT_TRUE(has_note(result, "and 2 more cells: the total covers only dev0, dev1, dev2: dev3 took no part"));
  }
}

TEST(CopySampler, AnEndpointThatIsLostInTheMiddleLeavesWholeFansAsTheyAre) {
  ScriptedBackend backend(4, at_10_gigabytes);
  int runs = 0;
  backend.before_copies = [&](std::span<const Copy> copies) {
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (copies[c].source == 3 && copies[c].destination == 1 && ++runs == 5)
        throw CopiesFailed("dev3 fell off the bus", {{c, CellStatus::error, 3}});
  };
  const Record record = record_of(backend, "all_to_one_write_ce");
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.status(0, 0), CellStatus::ok);
  EXPECT_NEAR(*result.values(0, 0), 30, 1e-6);
  for (std::size_t d : {1, 2}) {
    EXPECT_EQ(result.status(0, d), CellStatus::partial);
    EXPECT_NEAR(*result.values(0, d), 20, 1e-6);
  }
  EXPECT_EQ(result.status(0, 3), CellStatus::error);
  EXPECT_TRUE(has_note(result, "dev1"));
}

TEST(CopySampler, AFanOfOneIsLostWithEitherEnd) {
  ScriptedBackend backend(2, at_10_gigabytes);
  backend.gone[1] = "it hangs";
  EXPECT_EQ(record_of(backend, "all_to_one_write_ce").results.front().cells(CellStatus::error), 2u);
}

TEST(CopySampler, AnEndpointThatHangsInTheMiddleIsNamedAndTheOthersOfItsRoundAreMeasured) {
  ScriptedBackend backend(4, at_10_gigabytes);
  int runs = 0;
  backend.before_copies = [&](std::span<const Copy> copies) {
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (involves(copies[c], 2) && ++runs > 20) {
        backend.gone[2] = "it did not finish a copy in time";
        throw CopiesFailed("dev2 did not finish in time", {{c, CellStatus::timeout, 2}});
      }
  };
  const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.cells(CellStatus::not_run), 0u);
  EXPECT_GE(result.cells(CellStatus::ok), 6u);
  EXPECT_GT(result.cells(CellStatus::timeout), 0u);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      if (result.status(r, c) == CellStatus::timeout) {
        EXPECT_TRUE(r == 2 || c == 2);
      }
  EXPECT_EQ(record.lost.size(), 1u);
}

TEST(CopySampler, ACopyThatFailsWithoutItsEndpointIsTriedOnceMoreAndEndsAlone) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.before_copies = [&](std::span<const Copy> copies) {
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (copies[c].source == 1 && copies[c].destination == 2)
        throw CopiesFailed("dev1->dev2: mapping of buffer object failed", {{c, CellStatus::error, std::nullopt}});
  };
  const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
  EXPECT_EQ(record.results.front().cells(CellStatus::ok), 11u);
  EXPECT_EQ(record.results.front().status(1, 2), CellStatus::error);
  EXPECT_TRUE(record.lost.empty());
}

TEST(CopySampler, WhoeverLacksMemoryForOneMatrixIsMeasuredInTheNext) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.before_prepare = [](std::span<const Copy> copies) {
    std::vector<CopiesFailed::Failure> short_of;
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (involves(copies[c], 2) && copies[c].bytes > MiB)
        short_of.push_back({c, CellStatus::error, 2, LossKind::memory});
    if (!short_of.empty()) throw CopiesFailed("dev2 has 1 MiB free; process 4711 (python) holds the rest", short_of);
  };
  Guarded<Record> record;
  for (const std::uint64_t bytes : {2 * MiB, 1 * MiB}) {
    const Plan plan = make_plan(testcase("device_to_device_memcpy_write_ce"), backend, {.bytes = bytes});
    record.change([&](Record& r) { r.results.push_back(plan.result); });
    measure_plan(backend, plan, {}, Deadline::in(60), record);
  }
  record.read([](const Record& r) {
    EXPECT_EQ(r.results[0].cells(CellStatus::error), 4u);
    EXPECT_EQ(r.results[0].cells(CellStatus::ok), 2u);
    EXPECT_TRUE(r.results[1].complete());
    ASSERT_EQ(r.lost.size(), 1u);
    EXPECT_NE(r.lost.front().why.find("python"), std::string::npos);
    EXPECT_EQ(r.lost.front().kind, LossKind::memory);
  });
}

TEST(CopySampler, ALostEndpointHasTheKindOfItsLoss) {
  ScriptedBackend backend(3, at_10_gigabytes);
  backend.gone[1] = "out of memory; process 4711 (python) holds 79 GiB";
  for (const LossKind kind : {LossKind::memory, LossKind::device}) {
    backend.loss = kind;
    const Record record = record_of(backend, "device_to_device_memcpy_write_ce");
    ASSERT_EQ(record.lost.size(), 1u);
    EXPECT_EQ(record.lost.front().kind, kind);
    const std::string text = to_json(record);
    EXPECT_NE(text.find("\"kind\":\"" + std::string(word(kind)) + "\""), std::string::npos) << text;
  }
}

TEST(CopySampler, AHangIsKnownAtTheDeadlineAndCostsNoTimeOfTheOthers) {
  ScriptedBackend backend(4, at_10_gigabytes);
  backend.before_deadline = [&](std::span<const Copy> copies, Deadline deadline) {
    std::vector<CopiesFailed::Failure> late;
    for (std::size_t c = 0; c < copies.size(); ++c) {
      if (deadline.passed()) late.push_back({c, CellStatus::timeout, std::nullopt});
      if (!involves(copies[c], 2)) continue;
      while (!deadline.passed()) {
      }
      backend.gone[2] = "it did not finish a copy in time";
      late.push_back({c, CellStatus::timeout, 2});
    }
    if (!late.empty()) throw CopiesFailed("did not finish in time", late);
  };
  const Plan plan = make_plan(testcase("device_to_device_memcpy_write_ce"), backend, {.bytes = MiB});
  Guarded<Record> record;
  record.change([&](Record& r) { r.results.push_back(plan.result); });
  measure_plan(backend, plan, {.cell_timeout = 0.05, .concurrency = Concurrency::rounds}, Deadline::in(60), record);
  record.read([](const Record& r) {
    EXPECT_EQ(r.results.front().cells(CellStatus::ok), 6u);
    EXPECT_EQ(r.results.front().cells(CellStatus::timeout), 6u);
    EXPECT_TRUE(std::none_of(r.results.front().notes.begin(), r.results.front().notes.end(), [](const auto& note) {
      return note.find("failed at first") != std::string::npos;
    })) << "nothing that works was tried twice";
  });
}

TEST(CopySampler, AStressThatFailedIsTriedAgainAsAStress) {
  // 5 GB/s under load, 10 alone; device 3 hangs in the first round.
  ScriptedBackend backend(4,
                          [](const Copy& copy, std::size_t n) { return at_10_gigabytes(copy, n) * (n > 1 ? 2 : 1); });
  int runs = 0;
  backend.before_copies = [&](std::span<const Copy> copies) {
    if (copies.size() != 4 || ++runs != 2) return;
    throw CopiesFailed("a launch failed", {{0, CellStatus::error, std::nullopt}});
  };
  const MatrixResult result = record_of(backend, "device_to_device_memcpy_write_ce_stress").results.front();
  EXPECT_TRUE(result.complete());
  for (const auto& value : result.values) EXPECT_NEAR(value.value_or(5), 5, 1e-6);
}

TEST(CopySampler, AStressRunsAsLongEverywhere) {
  // The partners of a slow link are repeated until the slow link has finished.
  ScriptedBackend backend(4, slow_from_1_to_2_by(3));
  const MatrixResult result = record_of(backend, "device_to_device_memcpy_write_ce_stress").results.front();
  EXPECT_TRUE(result.complete());
  EXPECT_FALSE(has_note(result, "ended early"));
}

TEST(CopySampler, ThrowsASampleAwayWhoseLoadBeganLate) {
  for (const std::string name : {"device_to_device_memcpy_write_ce_stress", "all_to_host_memcpy_ce"}) {
    const bool is_stress = name.ends_with("stress");
    ScriptedBackend backend(4, at_10_gigabytes);
    backend.add_host_memory();
    int run = 0;
    backend.before_run = [&](int number) { run = number; };
    backend.late = [&](const Copy& copy) {
      return run % 5 == 3 && copy.source == 1 && copy.background != is_stress ? 1.0 : 0.0;
    };
    const MatrixResult result = record_of(backend, name).results.front();
    EXPECT_TRUE(result.complete());
    EXPECT_FALSE(has_note(result, "ended early")) << name << ": it did not load the whole of what it should";
  }
}

TEST(CopySampler, SaysThatALoadEndedEarly) {
  ScriptedBackend backend(
      3, [](const Copy& copy, std::size_t n) { return at_10_gigabytes(copy, n) * (copy.background ? 0.5 : 1); });
  backend.add_host_memory();
  const MatrixResult result = record_of(backend, "all_to_host_memcpy_ce").results.front();
  EXPECT_TRUE(has_note(result, "after 50 %")) << "else a slow link under load looks better than it is";
}

}  // namespace
}  // namespace linkmatrix
