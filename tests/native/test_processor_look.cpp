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
    proc_.kernel_thread(2, "kthreadd", 9);
    proc_.kernel_thread(3, "kworker", 9);
    thread(100, "0-1", 1e8, 5e8);
    thread(102, "0", 2e9, 3e9);
    stat(300, 0);
    proc_.write("loadavg", "5.38 5.10 3.94 8/225 24361");
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
  ProcessorLook(root_, {101}).add_node(now, "n1");
  ASSERT_EQ(now.nodes.size(), 1u);
  EXPECT_DOUBLE_EQ(*now.nodes[0].load, 5.38);
  EXPECT_EQ(now.nodes[0].cores, 2);
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
  ProcessorLook look(root_);
  Activity before, stolen;
  stat(300, 700);
  look.add_cores(before, "cpu0", std::vector{0});
  EXPECT_DOUBLE_EQ(*use_of(before, "cpu0", "cpu").counted, 4.95) << "what the host took on other days";
  stat(600, 730);
  thread(102, "0", 4e9, 3e9);
  look.add_cores(stolen, "cpu0", std::vector{0});
  EXPECT_NEAR(*use_of(between(before, stolen), "cpu0", "cpu").counted, 2.0 + 0.3 * 2 / 3, 1e-9)
      << "two thirds of what it took since";
}

TEST_F(ProcessorLookTest, AThreadThatOnlyBeganMakesNoOtherWait) {
  thread(103, "0", 4e6, 0);
  Activity now;
  ProcessorLook(root_).add_cores(now, "cpu0", std::vector{0});
  EXPECT_TRUE(use_of(now, "cpu0", "cpu").counted) << "it has had nothing to do";
}

TEST_F(ProcessorLookTest, DoesNotGuess) {
  thread(103, "0", 1e9, 1e9);
  Activity shared;
  ProcessorLook(root_).add_cores(shared, "cpu0", std::vector{0});
  EXPECT_FALSE(use_of(shared, "cpu0", "cpu").counted) << "two threads of the run wait for each other";
  ASSERT_EQ(shared.untold.size(), 1u);
  EXPECT_NE(shared.untold[0].find("several threads of the run share a core"), std::string::npos);
  Activity nothing;
  ProcessorLook blind(root_ / "nowhere");
  blind.add_node(nothing, "n1");
  blind.add_cores(nothing, "cpu0", std::vector{0});
  EXPECT_FALSE(nothing.nodes[0].load || nothing.nodes[0].busy || nothing.nodes[0].own_busy);
  EXPECT_FALSE(use_of(nothing, "cpu0", "cpu").counted);
  EXPECT_EQ(nothing.untold.size(), 3u);
}

TEST_F(ProcessorLookTest, SaysHowLongAProcessWaitedForOthers) {
  Activity now;
  ProcessorLook(root_).add_self(now, "rank");
  EXPECT_DOUBLE_EQ(*use_of(now, "rank", "cpu").own, 2.1);
  EXPECT_DOUBLE_EQ(*use_of(now, "rank", "cpu").counted, 2.1 + (3.0 - 0.1))
      << "its threads waited 0.5 s and 3 s, of which they may have waited 2 s and 0.1 s for each other";
  Activity nothing;
  ProcessorLook(root_ / "nowhere").add_self(nothing, "rank");
  EXPECT_FALSE(use_of(nothing, "rank", "cpu").counted);
  EXPECT_EQ(nothing.untold.size(), 1u);
}

TEST_F(ProcessorLookTest, OfRanksThoseThatOtherLaunchersStartedAreTheRunsToo) {
  proc_.task(4711, "p2p_matrix", 1, 700);
  Activity now;
  ProcessorLook(root_, {101, 2983, 4711}).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 1u) << "on test clusters nodes see each other's";
  EXPECT_DOUBLE_EQ(*now.nodes[0].own_busy, 16.0);
}

TEST_F(ProcessorLookTest, InAContainerTheSecondProcessIsNotTheKernel) {
  proc_.task(2, "bash", 1, 0);
  proc_.task(2983, "hog", 2, 1000);
  Activity now;
  ProcessorLook(root_, {101}).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 2u) << "it, and what it started";
}

TEST_F(ProcessorLookTest, OfTheSameProgramOfTheSameUserAnotherRunIsSomebodyElse) {
  proc_.task(4711, "p2p_matrix", 1, 700);
  Activity now;
  ProcessorLook(root_, {101}).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 2u);
  EXPECT_DOUBLE_EQ(*now.nodes[0].own_busy, 9.0);
}

TEST_F(ProcessorLookTest, OfARankHasWhatTheHostTookOfItsProcessorsSinceTheLookBefore) {
  proc_.cores(100, "0-1");
  stat(300, 500);
  ProcessorLook look(root_);
  Activity before, idle, after;
  look.add_self(before, "rank");
  const double at_first = *use_of(before, "rank", "cpu").counted;
  EXPECT_DOUBLE_EQ(at_first, 2.1 + (3.0 - 0.1)) << "what it took on other days is no loss of this run";
  stat(400, 500);
  thread(102, "0", 3e9, 3e9);
  look.add_self(idle, "rank");
  EXPECT_DOUBLE_EQ(*use_of(between(before, idle), "rank", "cpu").counted, 1.0) << "nor from then on";
  stat(500, 540);
  thread(102, "0", 4e9, 3e9);
  look.add_self(after, "rank");
  EXPECT_NEAR(*use_of(between(idle, after), "rank", "cpu").counted, 1.0 + 0.8 * 0.5, 1e-9)
      << "half of what the host took of two processors, of which the rank had one";
}

TEST_F(ProcessorLookTest, OfARankHasTheCoresOfItsFirstThread) {
  Activity now;
  ProcessorLook(root_).add_self(now, "rank");
  EXPECT_EQ(use_of(now, "rank", "cpu").cores, "0-1");
  thread(103, "0-63", 1e8, 0);
  Activity helped;
  ProcessorLook(root_).add_self(helped, "rank");
  EXPECT_EQ(use_of(helped, "rank", "cpu").cores, "0-1") << "a helper that is bound to nothing measures nothing";
}

TEST_F(ProcessorLookTest, OfANodeHasInterruptsWhereTheKernelCountsThemAsTimeOfWhomTheyInterrupt) {
  const auto busy = [&] {
    Activity now;
    ProcessorLook(root_).add_node(now, "n1");
    return *now.nodes.at(0).busy;
  };
  proc_.write("stat", "cpu  100 20 30 100 0 7 8 0 0 0\ncpu0 100 20 30 100 0 7 8 0 0 0");
  EXPECT_DOUBLE_EQ(busy(), 1.5);
  proc_.write("stat", "cpu  100 20 30 100 0 0 8 0 0 0\ncpu0 100 20 30 100 0 0 8 0 0 0");
  EXPECT_DOUBLE_EQ(busy(), 1.58) << "it sees no interrupt, so its threads' times have them";
}

TEST_F(ProcessorLookTest, ThreadsThatEndedBetweenTwoLooksAreTheRunsOwn) {
  ProcessorLook look(root_);
  thread(103, "0-1", 5e8, 0);
  Activity before, after, cores;
  look.add_self(before, "rank");
  look.add_cores(cores, "cpu0", std::vector{0});
  const double counted = *use_of(cores, "cpu0", "cpu").counted;
  fs::remove_all(root_ / "proc/100/task/103");
  proc_.task(100, "p2p_matrix", 50, 360);  // it ran for 0.9 s more, and another for 0.1 s that no look saw
  thread(102, "0", 2e9, 3.8e9);
  look.add_self(after, "rank");
  const Use use = use_of(between(before, after), "rank", "cpu");
  EXPECT_NEAR(*use.own, 1.0, 1e-9);
  EXPECT_NEAR(*use.counted, 1.0, 1e-9) << "what the first ones waited, they may have waited for it";
  Activity of_core;
  look.add_cores(of_core, "cpu0", std::vector{0});
  EXPECT_NEAR(*use_of(of_core, "cpu0", "cpu").counted - counted, 0.8 - 1.0 / 2, 1e-9) << "it was on one of two cores";
}

TEST_F(ProcessorLookTest, WhatStartedARankIsTheRunsOwnAsFarAsItsSessionGoes) {
  const auto in_session = [&](int pid, const std::string& name, int parent, int session, int ticks, int core) {
    proc_.write(std::to_string(pid) + "/stat", ProcTree::stat(pid, name, parent, ticks, core, session));
  };
  const auto at = [&](int more) {
    in_session(40, "sshd", 1, 40, 700 + more, 0);
    in_session(45, "mpirun", 40, 45, 600 + more, 1);
    in_session(50, "wrapper", 45, 45, 400 + more, 1);
    in_session(51, "wrapper", 45, 45, 300 + more, 0);
    in_session(52, "beside it", 45, 45, 200 + more, 1);
    in_session(101, "p2p_matrix", 51, 45, 300, 0);
  };
  ProcessorLook look(root_, {101});
  Activity first, second;
  at(0);
  look.add_node(first, "n1");
  at(10);
  look.add_node(second, "n1");
  std::vector<unsigned> others;
  for (const OtherProcess& process : second.processes) others.push_back(process.pid);
  EXPECT_EQ(others, (std::vector<unsigned>{40, 52, 2983}));
  EXPECT_DOUBLE_EQ(*second.nodes[0].own_busy, 2.0 + 3.0 + 4.1 + 3.1 + 6.1);
}

TEST_F(ProcessorLookTest, CountsTheTimeOfThreadsOfTheKernelSinceTheFirstPoll) {
  proc_.write("stat", "cpu  0 0 0 0 0 1 0 0 0 0");
  ProcessorLook look(root_);
  const auto kernel = [&] {
    Activity now;
    look.add_node(now, "n1");
    return now.nodes.at(0).kernel;
  };
  EXPECT_EQ(kernel(), 0);
  proc_.kernel_thread(3, "kworker", 59);
  proc_.kernel_thread(4, "napi/eth0-8", 30);
  proc_.kernel_thread(5, "ksoftirqd/1", 500);
  EXPECT_DOUBLE_EQ(kernel(), 0.5 + 0.3) << "interrupts that were put off are not in the time of the cores";
  fs::remove_all(root_ / "proc/4");
  EXPECT_DOUBLE_EQ(kernel(), 0.8) << "the time of a thread that has ended stays";
  proc_.write("stat", "cpu  0 0 0 0 0 0 0 0 0 0");
  proc_.kernel_thread(5, "ksoftirqd/1", 510);
  EXPECT_DOUBLE_EQ(kernel(), 5.1 + 0.8) << "unless the time of the cores has interrupts";
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
