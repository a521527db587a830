#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "device/host/host_backend.hpp"
#include "device/host/memory.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace {

std::vector<Copy> repeated(std::vector<Copy> copies, int repeats) {
  for (Copy& copy : copies) copy.repeats = repeats;
  return copies;
}

struct Way {
  Engine engine;
  Kernel kernel;
  Direction direction;
  bool peer_access;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const Engine engine : {Engine::ce, Engine::sm})
    for (const Kernel kernel : {Kernel::cached, Kernel::noncached, Kernel::bulk})
      for (const Direction direction : {Direction::write, Direction::read})
        for (const bool peer_access : {true, false}) ways.push_back({engine, kernel, direction, peer_access});
  return ways;
}

class HostCopies : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(AllWays, HostCopies, testing::ValuesIn(all_ways()));

TEST_P(HostCopies, MoveEveryByteOfAnOddSize) {
  const auto backend = make_host_backend({});
  const auto [engine, kernel, direction, peer_access] = GetParam();
  const Copy copy{.source = 0,
                  .destination = 1,
                  .bytes = 3 * MiB + 5,
                  .engine = engine,
                  .kernel = kernel,
                  .direction = direction,
                  .peer_access = peer_access};
  const std::vector copies{copy};
  backend->prepare(copies, Deadline::in(30));
  EXPECT_EQ(backend->verify(copies, 11, Deadline::in(30)).front().wrong_bytes, 0u);
  EXPECT_GT(backend->run(repeated(copies, 2), Deadline::in(30)).copies.front().span.seconds(), 0);
}

TEST(HostBackend, MeasuresBothDirectionsAtOnceAndLocalAndHostMemory) {
  const auto backend = make_host_backend({});
  int memory = -1;
  for (std::size_t i = 0; i < backend->endpoints().size(); ++i)
    if (backend->endpoints()[i].kind == EndpointKind::host) memory = static_cast<int>(i);
  ASSERT_GE(memory, 2);
  for (const std::vector<Copy>& copies :
       {std::vector<Copy>{{.source = 0, .destination = 1, .bytes = MiB}, {.source = 1, .destination = 0, .bytes = MiB}},
        std::vector<Copy>{{.source = 0, .destination = 0, .bytes = MiB}},
        std::vector<Copy>{{.source = memory, .destination = 1, .bytes = MiB}},
        std::vector<Copy>{{.source = 0, .destination = memory, .bytes = MiB}}}) {
    backend->prepare(copies, Deadline::in(30));
    for (const CopyTime& time : backend->run(repeated(copies, 3), Deadline::in(30)).copies)
      EXPECT_GT(time.span.seconds(), 0);
    for (const PatternCheck& check : backend->verify(copies, 3, Deadline::in(30))) EXPECT_EQ(check.wrong_bytes, 0u);
  }
}

TEST(HostBackend, CountsTheTimeOfBothWaysWhereOneCoreDoesBoth) {
  const auto backend = make_host_backend({});
  int memory = 0;
  while (backend->endpoints()[static_cast<std::size_t>(memory)].kind != EndpointKind::host) ++memory;
  const std::vector<Copy> copies{{.source = memory, .destination = 0, .bytes = MiB, .repeats = 5},
                                 {.source = 0, .destination = memory, .bytes = MiB, .repeats = 5}};
  backend->prepare(copies, Deadline::in(30));
  const auto times = backend->run(copies, Deadline::in(30)).copies;
  EXPECT_GT(times[1].span.start, times[0].span.start) << "one core makes them in turn …";
  EXPECT_GT(times[1].span.end, times[0].span.end);
  EXPECT_GT(times[0].span.end, times[1].span.start) << "… so that both ways take the time of both";
}

TEST(HostBackend, SaysWhenEachCopyBeganAndEndedOnOneClock) {
  const auto backend = make_host_backend({});
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = MiB, .repeats = 4},
                                 {.source = 1, .destination = 0, .bytes = 4 * KiB, .repeats = 2}};
  backend->prepare(copies, Deadline::in(30));
  const Timeline timeline = backend->run(copies, Deadline::in(30));
  EXPECT_EQ(timeline.timing, Timing::gate);
  EXPECT_EQ(timeline.uncertainty, 0) << "the system's clock is one for all cores";
  ASSERT_EQ(timeline.copies.size(), 2u);
  EXPECT_EQ(timeline.copies[0].transfers, 4);
  EXPECT_EQ(timeline.copies[1].transfers, 2000) << "a repeat of a small copy is a thousand";
  for (const CopyTime& time : timeline.copies) {
    EXPECT_GE(time.span.start, 0);
    EXPECT_GT(time.span.end, time.span.start);
  }
}

TEST(HostBackend, ChasesLoadsThatTakeAtLeastACacheHit) {
  const auto backend = make_host_backend({});
  const std::vector<Copy> copies{{.source = 0,
                                  .destination = 1,
                                  .bytes = 4 * MiB,
                                  .operation = Operation::chase,
                                  .engine = Engine::sm,
                                  .direction = Direction::read,
                                  .repeats = 10}};
  backend->prepare(copies, Deadline::in(30));
  for (const bool after_verification : {false, true}) {  // which writes its pattern over the ring
    const CopyTime time = backend->run(copies, Deadline::in(30)).copies.front();
    EXPECT_EQ(time.transfers, 10 * accesses_per_repeat);
    EXPECT_GT(time.span.seconds() / time.transfers, 0.1e-9) << "a chase whose loads were left out takes no time";
    if (!after_verification) {
      EXPECT_EQ(backend->verify(copies, 5, Deadline::in(30)).front().wrong_bytes, 0u);
    }
  }
}

TEST_P(HostCopies, MoveEveryByteFromAnOddPlace) {
  const auto backend = make_host_backend({});
  const auto [engine, kernel, direction, peer_access] = GetParam();
  for (const std::uint64_t offset : {1u, 15u, 4097u}) {
    const std::vector<Copy> copies{{.source = 0,
                                    .destination = 1,
                                    .bytes = MiB + 5,
                                    .engine = engine,
                                    .kernel = kernel,
                                    .direction = direction,
                                    .peer_access = peer_access,
                                    .offset = offset}};
    backend->prepare(copies, Deadline::in(30));
    EXPECT_EQ(backend->verify(copies, 11, Deadline::in(30)).front().wrong_bytes, 0u) << offset;
  }
}

TEST(HostBackend, KeepsTheBackgroundBusyUntilTheMeasuredCopiesAreDone) {
  const auto backend = make_host_backend({});
  std::vector<Copy> copies{
      {.source = 0, .destination = 1, .bytes = 16 * MiB, .direction = Direction::write, .repeats = 3},
      {.source = 0,
       .destination = 1,
       .bytes = 4 * KiB,
       .direction = Direction::read,
       .source_slot = 1,
       .destination_slot = 1,
       .background = true}};
  backend->prepare(copies, Deadline::in(30));
  const auto times = backend->run(copies, Deadline::in(30)).copies;
  EXPECT_LE(times[1].span.start, times[0].span.end);
  EXPECT_GE(times[1].span.end, times[0].span.end);
  EXPECT_GT(times[1].transfers, times[0].transfers) << "of many small copies";
  for (const PatternCheck& check : backend->verify(copies, 9, Deadline::in(30))) EXPECT_EQ(check.wrong_bytes, 0u);
}

TEST(HostBackend, TimesSingleAccessesAndStillCopiesAfterwards) {
  const auto backend = make_host_backend({});
  for (const Operation operation : {Operation::atomic, Operation::flag}) {
    const std::vector<Copy> copies{
        {.source = 0, .destination = 1, .bytes = 8, .operation = operation, .engine = Engine::sm, .repeats = 10}};
    backend->prepare(copies, Deadline::in(30));
    for (int i = 0; i < 2; ++i) {
      const CopyTime time = backend->run(copies, Deadline::in(30)).copies.front();
      EXPECT_GT(time.span.seconds() / time.transfers, 0.1e-9);
      EXPECT_EQ(backend->verify(copies, 5, Deadline::in(30)).front().wrong_bytes, 0u);
    }
  }
}

TEST(HostBackend, TellsThatADeadlinePassedAndEnds) {
  const auto backend = make_host_backend({});
  std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 64 * MiB, .repeats = 1000000}};
  backend->prepare(copies, Deadline::in(30));
  try {
    backend->run(copies, Deadline::in(0.05));
    FAIL() << "a million transfers in 50 ms";
  } catch (const CopiesFailed& e) {
    EXPECT_NE(std::string(e.what()).find("cpu0->cpu1"), std::string::npos) << e.what();
    ASSERT_EQ(e.failures().size(), 1u);
    EXPECT_EQ(e.failures()[0].status, CellStatus::timeout);
    EXPECT_FALSE(e.failures()[0].endpoint) << "its thread heard that it is to end";
  }
  EXPECT_FALSE(backend->lost(0));
  copies[0].repeats = 1;
  EXPECT_GT(backend->run(copies, Deadline::in(30)).copies[0].span.seconds(), 0) << "and works on";
}

TEST(HostBackend, VerifiesCopiesThatRunAtOnceEachWithItsOwnPattern) {
  const auto backend = make_host_backend({});
  const std::uint64_t bytes = 70 * MiB + 3;  // more than one piece
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = bytes},
                                 {.source = 1, .destination = 0, .bytes = bytes}};
  backend->prepare(copies, Deadline::in(30));
  for (const PatternCheck& check : backend->verify(copies, 9, Deadline::in(30))) EXPECT_EQ(check.wrong_bytes, 0u);
  EXPECT_THROW(backend->verify(copies, 9, Deadline::in(0.001)), CopiesFailed);
}

/// What a run brings, and what a run that brings nothing leaves.
TEST(HostBackend, ComparesWhatTheLastRunHasBroughtAndNotWhatWasThereBefore) {
  const auto backend = make_host_backend({});
  for (const std::uint64_t offset : {0u, 3u}) {
    std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 2 * MiB + 5, .offset = offset, .repeats = 2},
                             {.source = 1, .destination = 0, .bytes = MiB, .offset = offset, .repeats = 2}};
    backend->prepare(copies, Deadline::in(30));
    backend->lay_patterns(copies, Deadline::in(30));
    const auto wrong = [&](Portion portion = {}) {
      return backend->compare(copies, portion, Deadline::in(30)).front().wrong_bytes;
    };
    EXPECT_GT(wrong(), 2 * MiB * 9 / 10) << "nothing was copied yet";
    for (int sample = 0; sample < 4; ++sample) {
      backend->run(copies, Deadline::in(30));
      EXPECT_EQ(wrong(), 0u) << sample;
      for (std::uint64_t first = 0; first < 5; ++first) EXPECT_EQ(wrong({5, first}), 0u);
      for (Copy& copy : copies) copy.shift = source_windows - copy.shift;
      EXPECT_GT(wrong(), 2 * MiB * 9 / 10) << "a next sample that brings nothing";
      EXPECT_GT(wrong({5, 3}), 2 * MiB / 5 * 9 / 10) << "and in whichever blocks";
    }
    copies[0].bytes = MiB;  // a transfer that ends too early
    backend->run(copies, Deadline::in(30));
    copies[0].bytes = 2 * MiB + 5;
    EXPECT_GT(wrong(), MiB * 9 / 10);
  }
}

TEST(HostBackend, LaysAPatternAgainThatAChainHasWrittenOver) {
  const auto backend = make_host_backend({});
  std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = MiB}};
  const std::vector<Copy> chains{
      {.source = 0, .destination = 1, .bytes = 8, .operation = Operation::flag, .engine = Engine::sm}};
  backend->prepare(copies, Deadline::in(30));
  for (int i = 0; i < 2; ++i) {
    backend->lay_patterns(copies, Deadline::in(30));
    backend->run(copies, Deadline::in(30));
    EXPECT_EQ(backend->compare(copies, {}, Deadline::in(30)).front().wrong_bytes, 0u);
    backend->run(chains, Deadline::in(30));
    backend->verify(copies, 5, Deadline::in(30));
  }
}

TEST(HostBackend, RefusesUnknownDevicesAndMoreMemoryThanThereIs) {
  const std::vector unknown{0, 9999};
  EXPECT_THROW(make_host_backend(unknown), BadInput);
  for (const std::vector<int>& bad : {std::vector{-1}, std::vector{0, 0}})
    EXPECT_THROW(make_host_backend(bad), BadInput);
  const auto backend = make_host_backend({});
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 1024 * GiB}};
  EXPECT_THROW(backend->prepare(copies, Deadline::in(30)), BadInput);
}

TEST(HostBackend, RefusesBuffersThatDoNotFitTogetherBeforeAnyIsMade) {
  const std::uint64_t most = available_memory() / 4 * 3;  // others may free some meanwhile
  const auto backend = make_host_backend({});
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = most}};
  const auto start = available_memory();
  try {
    backend->prepare(copies, Deadline::in(30));
    FAIL() << "twice three quarters";
  } catch (const BadInput& e) {
    EXPECT_NE(std::string(e.what()).find("2 buffers"), std::string::npos) << e.what();
  }
  EXPECT_GT(available_memory(), start - most / 2) << "one of the two would have fitted";
}

TEST(HostBackend, MeasuresWithNothingButZerosNowhere) {
  HostMemory memory;
  reserve_here(memory, 64 * KiB);
  const PatternCheck found = check_pattern(memory.data(), 0, memory.bytes(), 1);
  EXPECT_EQ(found.wrong_bytes, 0u) << "memory is touched with the pattern";
}

TEST(HostBackend, HasTwoEndpointsEvenOnASingleCore) {
  std::size_t devices = 0;
  std::string name;
  std::thread([&] {
    pin_thread({numa_nodes().front().cores.front()});
    const auto backend = make_host_backend({});
    name = backend->endpoints().front().name;
    for (const Endpoint& endpoint : backend->endpoints()) devices += endpoint.kind == EndpointKind::device;
  }).join();
  EXPECT_EQ(devices, 2u);
  EXPECT_NE(name.find("shared"), std::string::npos);
}

}  // namespace
}  // namespace linkmatrix
