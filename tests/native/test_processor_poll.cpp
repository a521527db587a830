#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/disturbances.hpp"
#include "core/units.hpp"
#include "device/host/activity.hpp"
#include "device/host/host_backend.hpp"
#include "device/host/numa.hpp"
#include "proc_tree.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// The kernel's files of a machine with two processors, in a folder of the test.
class ProcessorPollTest : public testing::Test {
 protected:
  ProcessorPollTest() {
    proc_.task(100, "p2p_matrix", 50, 200);
    proc_.task(101, "p2p_matrix", 50, 300);  // another rank beside it
    proc_.task(50, "mpirun", 1, 400);
    proc_.task(2983, "a hog) R", 1, 1000);
    proc_.kernel_thread(2, "kthreadd", 9);
    proc_.kernel_thread(3, "kworker", 9);
    const std::string times = "300 0 0 100 0 0 0 0 0 0";
    proc_.write("stat", "cpu  " + times + "\ncpu0 " + times + "\ncpu1 " + times + "\nintr 5");
  }
  const ProcTree proc_{"processor_poll"};
  const fs::path& root_ = proc_.root;
};

TEST_F(ProcessorPollTest, TellsTheRunFromOthers) {
  Activity now;
  ProcessorPoll(root_, {101}).add_node(now, "n1");
  ASSERT_EQ(now.nodes.size(), 1u);
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
  EXPECT_EQ(ProcessorPoll(root_).user_of(2983), "bob");
  EXPECT_EQ(ProcessorPoll(root_).user_of(4711), "") << "it has ended";
  Activity alone;
  ProcessorPoll(root_).add_node(alone, "n1");
  EXPECT_EQ(alone.processes.size(), 2u) << "a program of the same name beside one that is no rank is somebody else's";
}

TEST_F(ProcessorPollTest, DoesNotGuess) {
  Activity nothing;
  ProcessorPoll(root_ / "nowhere").add_node(nothing, "n1");
  EXPECT_FALSE(nothing.nodes[0].busy || nothing.nodes[0].own_busy);
  EXPECT_EQ(nothing.untold.size(), 2u);
}

TEST_F(ProcessorPollTest, OfRanksThoseThatOtherLaunchersStartedAreTheRunsToo) {
  proc_.task(4711, "p2p_matrix", 1, 700);
  Activity now;
  ProcessorPoll(root_, {101, 2983, 4711}).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 1u) << "on test clusters nodes see each other's";
  EXPECT_DOUBLE_EQ(*now.nodes[0].own_busy, 16.0);
}

TEST_F(ProcessorPollTest, InAContainerTheSecondProcessIsNotTheKernel) {
  proc_.task(2, "bash", 1, 0);
  proc_.task(2983, "hog", 2, 1000);
  Activity now;
  ProcessorPoll(root_, {101}).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 2u) << "it, and what it started";
}

TEST_F(ProcessorPollTest, OfTheSameProgramOfTheSameUserAnotherRunIsSomebodyElse) {
  proc_.task(4711, "p2p_matrix", 1, 700);
  Activity now;
  ProcessorPoll(root_, {101}).add_node(now, "n1");
  EXPECT_EQ(now.processes.size(), 2u);
  EXPECT_DOUBLE_EQ(*now.nodes[0].own_busy, 9.0);
}

TEST_F(ProcessorPollTest, WhatStartedARankIsTheRunsOwnAsFarAsItsSessionGoes) {
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
  ProcessorPoll look(root_, {101});
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

TEST_F(ProcessorPollTest, CountsTheTimeOfThreadsOfTheKernelSinceTheFirstPoll) {
  ProcessorPoll poll(root_);
  const auto kernel = [&] {
    Activity now;
    poll.add_node(now, "n1");
    return now.nodes.at(0).kernel;
  };
  EXPECT_EQ(kernel(), 0);
  proc_.kernel_thread(3, "kworker", 59);
  proc_.kernel_thread(4, "napi/eth0-8", 30);
  EXPECT_DOUBLE_EQ(kernel(), 0.5 + 0.3);
  fs::remove_all(root_ / "proc/4");
  EXPECT_DOUBLE_EQ(kernel(), 0.8) << "the time of a thread that has ended stays";
}

/// A process that keeps a core busy until its end.
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

TEST(HostActivity, HasAProcessThatSharesTheCoreOfTheRun) {
  NumaNode node = numa_nodes().front();
  node.cores.resize(1);
  const Hog hog(node.cores.front());  // before this process has threads
  const auto backend = make_host_backend(std::vector{0}, true, {node});
  const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = 4 * MiB, .repeats = 30}};
  if (backend->endpoints().at(1).kind != EndpointKind::host) GTEST_SKIP() << "no host memory";
  backend->prepare(copies, Deadline::never());
  const Activity before = backend->activity();
  const Deadline end = Deadline::in(1);
  while (!end.passed()) backend->run(copies, Deadline::never());
  Activity found = between(before, backend->activity());
  decide_disturbances(found);
  const bool is_named = std::ranges::any_of(found.disturbances, [&](const Disturbance& one) {
    return std::ranges::find(one.pids, static_cast<unsigned>(hog.pid())) != one.pids.end();
  });
  EXPECT_TRUE(is_named) << sentence_of(found).value_or("nothing disturbed");
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
