#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "device/host/endpoint_state.hpp"
#include "device/host/jobs.hpp"
#include "device/host/memory.hpp"
#include "device/host/team.hpp"
#include "device/host/worker.hpp"
#include "no_threads.hpp"

namespace linkmatrix {
namespace {

TEST(Shares, CoverACopyOnceInPagesAndLeaveSmallOnesWhole) {
  for (const std::uint64_t bytes : {3 * MiB + 5, 64 * MiB, 7 * MiB - 1})
    for (const std::size_t threads : {1u, 2u, 3u, 64u}) {
      std::uint64_t end = 0;
      const auto cut = shares(bytes, threads);
      for (const Share& share : cut) {
        EXPECT_EQ(share.at, end);
        EXPECT_EQ(share.at % (4 * KiB), 0u);
        end += share.bytes;
      }
      EXPECT_EQ(end, bytes);
      EXPECT_LE(cut.size(), threads);
      EXPECT_LE(cut.size(), bytes / MiB);
    }
  EXPECT_EQ(shares(2 * MiB - 1, 8).size(), 1u);
  EXPECT_EQ(shares(0, 8).size(), 1u);
}

TEST(ThreadsThatFill, AreDoubledUntilTheNextStepGainsNothing) {
  const auto found = [](std::size_t most, std::map<std::size_t, double> rates) {
    return find_thread_count(most, [&](std::size_t threads) { return rates.at(threads); });
  };
  EXPECT_EQ(found(1, {{1, 10}}), 1u);
  EXPECT_EQ(found(64, {{1, 10}, {2, 20}, {4, 38}, {8, 38.5}}), 4u) << "the link is full";
  EXPECT_EQ(found(6, {{1, 10}, {2, 20}, {4, 40}, {6, 60}}), 6u) << "the last step ends at the cores there are";
  EXPECT_EQ(found(6, {{1, 10}, {2, 20}, {4, 40}, {6, 39}}), 4u);
  EXPECT_EQ(found(64, {{1, 10}, {2, 10.1}}), 1u) << "one core fills it";
}

TEST(PathThreads, AreCountedOnceForAKindAndServeSmallerCopiesToo) {
  PathThreads threads;
  const PathKind kind{.same_node = false, .cores = 4};
  EXPECT_EQ(threads.number(kind, 64 * MiB), 1u);
  int measured = 0;
  const auto rate = [&] {
    ++measured;
    return 10.0 * static_cast<double>(threads.number(kind, 64 * MiB));
  };
  for (int i = 0; i < 2; ++i) threads.determine(kind, 64 * MiB, rate);
  EXPECT_EQ(measured, 3) << "1, 2 and 4 threads";
  EXPECT_EQ(threads.number(kind, 8 * MiB), 4u);
  EXPECT_EQ(threads.number(kind, GiB), 4u);
  EXPECT_EQ(threads.number({.same_node = true, .cores = 4}, 64 * MiB), 1u) << "another kind of path";
  ASSERT_EQ(threads.remarks().size(), 1u);
  EXPECT_EQ(threads.remarks()[0],
            "copies of 64 MiB between two NUMA nodes use 4 of 4 cores: more cores add less than 2 %");
}

TEST(Team, IsAsLargeAsTheSystemLets) {
  Team team({0, 0, 0});
  EXPECT_EQ(team.threads(2).size(), 2u);
  const NoThreads limit;
  EXPECT_EQ(team.threads(3).size(), 2u);
  EXPECT_EQ(team.most(), 2u);
  EXPECT_NE(team.refused().find("only 2 threads"), std::string::npos) << team.refused();
}

TEST(Pages, AreCountedAsTheKernelListsThem) {
  alignas(4096) static std::array<std::byte, 8192> memory;
  std::ostringstream text;
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  text << "1000-2000 rw-p 00000000 00:00 0\nAnonHugePages:      4096 kB\n"
       << std::hex << first << '-' << first + memory.size() << " rw-p 00000000 00:00 0\n"
       << "Rss:                8 kB\nAnonHugePages:      2048 kB\nVmFlags: rd wr\n"
       << first + memory.size() << '-' << first + 2 * memory.size()
       << " rw-p 00000000 00:00 0\nAnonHugePages:      6144 kB\n";
  const std::vector<std::span<const std::byte>> ours{memory};
  std::istringstream smaps(text.str());
  EXPECT_EQ(huge_bytes(smaps, ours), 2 * MiB);
  std::istringstream none("1000-2000 rw-p 00000000 00:00 0\nAnonHugePages:      4096 kB\n");
  EXPECT_EQ(huge_bytes(none, ours), std::nullopt);
}

TEST(Pages, OfABufferAreSmallWhereThatIsWanted) {
  HostMemory memory;
  reserve_here(memory, 8 * MiB, false);
  const std::vector<std::span<const std::byte>> ours{{memory.data(), memory.bytes()}};
  std::ifstream smaps("/proc/self/smaps");
  EXPECT_EQ(huge_bytes(smaps, ours), 0u);
}

TEST(Worker, IsLeftToItselfWhereItsJobHangsAndKeepsWhatThatUses) {
  auto kept = std::make_shared<std::atomic<bool>>(false);
  const std::weak_ptr<std::atomic<bool>> alive = kept;
  {
    Worker worker({});
    worker.start([kept] {
      while (!*kept) std::this_thread::yield();
    });
    EXPECT_FALSE(worker.wait(Deadline::in(0.01)));
    EXPECT_FALSE(worker.wait_after_deadline());
  }
  *kept = true;
  kept = nullptr;
  for (const auto until = Deadline::in(30); !alive.expired() && !until.passed();) std::this_thread::yield();
  EXPECT_TRUE(alive.expired()) << "the thread ended, and with it what it kept";
}

TEST(Worker, HearsASignalWhileItWaits) {
  std::atomic<bool> end = false;
  Worker worker({});
  worker.start([&end] {
    while (!end) std::this_thread::yield();
  });
  stop_signal = 15;
  EXPECT_FALSE(worker.wait(Deadline::in(1000)));
  stop_signal = 0;
  end = true;
  EXPECT_TRUE(worker.wait(Deadline::in(30)));
}

TEST(Worker, HandsOnWhatItsJobThrew) {
  Worker worker({});
  worker.start([] { throw BadInput("no"); });
  EXPECT_THROW(worker.wait(Deadline::in(30)), BadInput);
  worker.start([] {});
  EXPECT_TRUE(worker.wait(Deadline::in(30)));
}

TEST(CheckedByOthers, NoThreadComparesWhatItHasCopied) {
  std::vector<std::unique_ptr<Worker>> threads;
  for (int k = 0; k < 4; ++k) threads.push_back(std::make_unique<Worker>(std::vector<int>{}));
  const auto job = [&](int endpoint, std::size_t thread) {
    return Job{endpoint, threads[thread].get(), std::make_shared<std::vector<HostPart>>(1)};
  };
  const Checker spare{7, threads[3].get()};
  for (const std::vector<Job>& jobs :
       {std::vector{job(0, 0)}, std::vector{job(0, 0), job(1, 1)}, std::vector{job(0, 0), job(0, 1), job(1, 2)}}) {
    const auto checks = checked_by_others(jobs, [&](const Job&) { return spare; });
    ASSERT_EQ(checks.size(), jobs.size());
    std::set<Worker*> used;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      EXPECT_EQ(checks[k].parts, jobs[k].parts);
      EXPECT_NE(checks[k].thread, jobs[k].thread);
      EXPECT_TRUE(used.insert(checks[k].thread).second) << "a thread has one job at a time";
    }
  }
  EXPECT_EQ(checked_by_others(std::vector{job(0, 0)}, [&](const Job&) { return spare; }).front().endpoint, 7)
      << "who hangs is lost";
}

TEST(CoresBeside, AreThoseThatNoDeviceHas) {
  const std::vector<NumaNode> nodes{{0, {0, 1, 2}}, {1, {5}}};
  std::vector<HostEndpointState> devices(2);
  devices[0].cores = {1};
  devices[1].cores = {5};
  EXPECT_EQ(unused_cores(nodes, devices), (std::vector{0, 2}));
}

TEST(Loads, AreThereBeforeWhatTheyLoad) {
  const auto part = [](bool background) {
    HostPart made;
    made.copy = {.bytes = 64 * KiB, .background = background};
    made.share = {0, made.copy.bytes};
    made.source = made.destination = std::make_shared<HostMemory>(64 * KiB, false);
    return made;
  };
  std::vector<HostPart> load{part(true)}, measured{part(false)};
  HostRun run(Deadline::in(30));
  run.open = true;
  run.measured = run.absent = 1;
  std::thread early([&] { time_parts(measured, run); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // its thread gets no core yet
  time_parts(load, run);
  early.join();
  EXPECT_LE(load.front().time.span.start, measured.front().time.span.start);
  EXPECT_GE(load.front().time.span.end, measured.front().time.span.end);
}

}  // namespace
}  // namespace linkmatrix
