#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/units.hpp"
#include "device/host/activity.hpp"
#include "device/host/host_backend.hpp"
#include "device/host/numa.hpp"
#include "proc_tree.hpp"
#include "use_of.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// The kernel's files of a machine with two processors, below a folder of its own.
class ProcessorLookTest : public testing::Test {
 protected:
  ProcessorLookTest() {
    proc_.task(100, "p2p_matrix", 50, 200);
    proc_.task(101, "p2p_matrix", 50, 300);  // another rank beside it
    proc_.task(50, "mpirun", 1, 400);
    proc_.task(2983, "a hog) R", 1, 1000);
    proc_.task(2, "kthreadd", 0, 9);
    proc_.task(3, "kworker", 2, 9);
    thread(100, "0-1", 1e8, 5e8);
    thread(102, "0", 2e9, 3e9);
    stat(300, 0);
    proc_.write("loadavg", "5.38 5.10 3.94 8/225 24361");
    proc_.write("pressure/cpu", "some avg10=97.08 avg60=95.16 avg300=70.42 total=2000000\nfull avg10=0 total=0");
  }

  void thread(int tid, const std::string& cores, double ran, double waited) const {
    const std::string folder = "100/task/" + std::to_string(tid) + "/";
    proc_.write(folder + "status", "Name:\tp2p_matrix\nCpus_allowed:\t3\nCpus_allowed_list:\t" + cores);
    proc_.write(folder + "schedstat",
                std::to_string(static_cast<long>(ran)) + " " + std::to_string(static_cast<long>(waited)) + " 7");
  }
  void stat(int user, int stolen) const {
    const std::string times = std::to_string(user) + " 0 0 100 0 0 0 " + std::to_string(stolen) + " 0 0";
    proc_.write("stat", "cpu  " + times + "\ncpu0 " + times + "\ncpu1 " + times + "\nintr 5");
  }
  const ProcTree proc_{"processor_look"};
  const fs::path& root_ = proc_.root;
};

TEST_F(ProcessorLookTest, TellsTheRunFromOthers) {
  Activity now;
  ProcessorLook(root_, true).add_node(now, "n1");
  ASSERT_EQ(now.nodes.size(), 1u);
  EXPECT_DOUBLE_EQ(*now.nodes[0].load, 5.38);
  EXPECT_DOUBLE_EQ(*now.nodes[0].stalled, 2.0);
  EXPECT_DOUBLE_EQ(*now.nodes[0].busy, 3.0);
  EXPECT_DOUBLE_EQ(*now.nodes[0].own_busy, 9.0) << "the program, the rank beside it, and what started them";
  ASSERT_EQ(now.processes.size(), 1u) << "neither the run's own nor the kernel's";
  EXPECT_EQ(now.processes[0].pid, 2983u);
  EXPECT_EQ(now.processes[0].name, "a hog) R");
  EXPECT_DOUBLE_EQ(*now.processes[0].seconds, 10.0);
  EXPECT_EQ(now.processes[0].user, "uid " + std::to_string(::getuid()));
  fs::create_directories(root_ / "etc");
  std::ofstream(root_ / "etc/passwd") << "nobody:x:65534\nbob:x:" << ::getuid() << ":0::/home/bob:/bin/sh\nspoilt\n";
  EXPECT_EQ(ProcessorLook(root_).user_of(2983), "bob");
  EXPECT_EQ(ProcessorLook(root_).user_of(4711), "") << "it has ended";
  Activity alone;
  ProcessorLook(root_).add_node(alone, "n1");
  EXPECT_EQ(alone.processes.size(), 2u) << "a program of the same name beside one that is no rank is somebody else's";
}

TEST_F(ProcessorLookTest, SaysHowLongOthersHadTheCoresOfAThread) {
  Activity now;
  ProcessorLook(root_).add_cores(now, "cpu0", std::vector{0});
  EXPECT_DOUBLE_EQ(*use_of(now, "cpu0", "cpu").own, 2.0);
  EXPECT_DOUBLE_EQ(*use_of(now, "cpu0", "cpu").counted, 2.0 + 3.0 - 0.05)
      << "an unbound thread of the run had 0.1 s of two";
  stat(300, 30);
  Activity stolen;
  ProcessorLook(root_).add_cores(stolen, "cpu0", std::vector{0});
  EXPECT_NEAR(*use_of(stolen, "cpu0", "cpu").counted, 4.95 + 0.3 * 2 / 3, 1e-9) << "two thirds of what the host took";
}

TEST_F(ProcessorLookTest, DoesNotGuess) {
  thread(103, "0", 1e9, 1e9);
  Activity shared;
  ProcessorLook(root_).add_cores(shared, "cpu0", std::vector{0});
  EXPECT_FALSE(use_of(shared, "cpu0", "cpu").counted) << "two threads of the run wait for each other";
  ASSERT_EQ(shared.untold.size(), 1u);
  EXPECT_NE(shared.untold[0].find("several threads of the run share a core"), std::string::npos);
  Activity nothing;
  const ProcessorLook blind(root_ / "nowhere");
  blind.add_node(nothing, "n1");
  blind.add_cores(nothing, "cpu0", std::vector{0});
  EXPECT_FALSE(nothing.nodes[0].load || nothing.nodes[0].busy || nothing.nodes[0].stalled || nothing.nodes[0].own_busy);
  EXPECT_FALSE(use_of(nothing, "cpu0", "cpu").counted);
  EXPECT_EQ(nothing.untold.size(), 4u);
}

TEST_F(ProcessorLookTest, SaysHowLongAProcessWaitedForOthers) {
  Activity now;
  ProcessorLook(root_, true).add_self(now, "rank");
  EXPECT_DOUBLE_EQ(*use_of(now, "rank", "cpu").own, 2.1);
  EXPECT_DOUBLE_EQ(*use_of(now, "rank", "cpu").counted, 2.1 + (3.0 - 0.1))
      << "its threads waited 0.5 s and 3 s, of which they may have waited 2 s and 0.1 s for each other";
  Activity nothing;
  ProcessorLook(root_ / "nowhere", true).add_self(nothing, "rank");
  EXPECT_FALSE(use_of(nothing, "rank", "cpu").counted);
  EXPECT_EQ(nothing.untold.size(), 1u);
}

TEST_F(ProcessorLookTest, OfRanksThoseThatOtherLaunchersStartedAreTheRunsToo) {
  proc_.task(4711, "p2p_matrix", 1, 700);
  Activity now;
  ProcessorLook(root_, true).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 1u) << "of its name and user: on test clusters nodes see each other's";
  EXPECT_DOUBLE_EQ(*now.nodes[0].own_busy, 16.0);
}

/// A process that keeps a core busy until it is ended.
class Hog {
 public:
  explicit Hog(int core) : pid_{::fork()} {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "hog");
    pin_thread({core});
    for (std::atomic<unsigned> turns = 0;; ++turns) {
    }
  }
  ~Hog() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Hog(const Hog&) = delete;
  Hog& operator=(const Hog&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(HostActivity, CountsTheTimeThatAnotherProcessTakes) {
  NumaNode node = numa_nodes().front();
  node.cores.resize(1);
  const Hog first(node.cores.front()), second(node.cores.front());  // before this process has threads
  const auto backend = make_host_backend(std::vector{0}, true, {node});
  const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = 4 * MiB, .repeats = 30}};
  if (backend->endpoints().at(1).kind != EndpointKind::host) GTEST_SKIP() << "no host memory";
  backend->prepare(copies, Deadline::never());
  const Activity before = backend->activity();
  if (!use_of(before, "cpu0", "cpu").counted) GTEST_SKIP() << join(before.untold);
  Activity now, found;
  const Deadline end = Deadline::in(30);
  do {  // until it has run for long enough to be told from the clock's ticks, and so have the others
    backend->run(copies, Deadline::never());
    now = backend->activity();
    found = between(before, now);
  } while (*use_of(found, "cpu0", "cpu").own < 0.3 && !end.passed());
  const Use& use = use_of(found, "cpu0", "cpu");
  ASSERT_TRUE(use.counted) << join(found.untold);
  EXPECT_GT(*use.counted, 1.2 * *use.own) << "two others wanted the same core all the time";
  const bool seen = std::ranges::any_of(now.processes, [&](const OtherProcess& process) {
    return process.pid == static_cast<unsigned>(first.pid()) && process.name == "hog";
  });
  EXPECT_TRUE(seen) << now.processes.size() << " processes of others";
}

TEST(HostActivity, IsThatOfThisMachine) {
  const auto backend = make_host_backend({});
  const Activity now = backend->activity();
  EXPECT_FALSE(now.nodes.empty());
  EXPECT_EQ(now.nodes[0].node, backend->endpoints().front().node);
  EXPECT_TRUE(std::ranges::none_of(now.processes, [](const OtherProcess& p) {
    return p.pid == static_cast<unsigned>(::getpid());
  })) << "this process is nobody else";
}

}  // namespace
}  // namespace linkmatrix
