#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/activity.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "device/device_activity.hpp"
#include "device/host/activity.hpp"
#include "device/host/host_backend.hpp"
#include "device/host/numa.hpp"
#include "own_folder.hpp"
#include "program/idle.hpp"
#include "scripted_backend.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

const Use& use_of(const Activity& activity, const std::string& label, const std::string& of) {
  const auto found = std::ranges::find_if(activity.uses, [&](const Use& u) { return u.label == label && u.of == of; });
  if (found == activity.uses.end()) throw std::runtime_error("no use of " + label + " " + of);
  return *found;
}

Activity look(double seconds, std::optional<double> counted, std::optional<double> own) {
  return {seconds, {}, {{"gpu0", "nvlink_out", counted, own}}, {}, {}, {}};
}

TEST(Activity, OfTwoLooksIsTheirDifference) {
  const Activity found = between(look(10, 500, 100), look(12, 900, 150));
  EXPECT_DOUBLE_EQ(found.seconds, 2);
  EXPECT_DOUBLE_EQ(*use_of(found, "gpu0", "nvlink_out").counted, 400);
  EXPECT_DOUBLE_EQ(*use_of(found, "gpu0", "nvlink_out").own, 50);
}

TEST(Activity, SaysNothingOfACounterThatFellOrWasSilent) {
  for (const auto& [before, after] :
       {std::pair<std::optional<double>, std::optional<double>>{500, 400}, {std::nullopt, 900}, {500, std::nullopt}})
    EXPECT_FALSE(use_of(between(look(1, before, 0), look(2, after, 0)), "gpu0", "nvlink_out").counted);
  EXPECT_TRUE(between(Activity{}, look(2, 9, 0)).uses.empty()) << "there was no look before";
}

TEST(Activity, NamesWhoHadADeviceAndWhoUsedProcessors) {
  Activity before = look(1, 0, 0), after = look(2, 0, 0);
  before.processes = {
      {"gpu0", 7, "gone", "", 5, {}}, {"node", 8, "idle", "", {}, 3.0}, {"node", 9, "hog", "", {}, 3.0}};
  after.processes = {{"node", 8, "idle", "", {}, 3.01}, {"node", 9, "hog", "bob", {}, 4.0}};
  const Activity found = between(before, after);
  ASSERT_EQ(found.processes.size(), 2u);
  EXPECT_EQ(found.processes[0].name, "gone") << "it had the device while something was measured";
  EXPECT_EQ(found.processes[1].name, "hog");
  EXPECT_DOUBLE_EQ(*found.processes[1].seconds, 1.0);
}

TEST(Activity, IsADisturbanceWhereSomebodyHasADeviceOrMovesBytes) {
  EXPECT_FALSE(disturbance(between(look(1, 0, 0), look(2, 5e9, 5e9)))) << "the run moved them";
  EXPECT_NE(disturbance(between(look(1, 0, 0), look(2, 5e9, 0)))->find("gpu0 has 5.0 GB/s of nvlink_out"),
            std::string::npos);
  Activity held = look(2, 0, 0);
  held.processes = {{"gpu0", 2983, "hog", "bob", 1000, {}}};
  EXPECT_EQ(disturbance(between(look(1, 0, 0), held)), "pid 2983 (hog, bob) on gpu0");
  Activity elsewhere = look(2, 0, 0);
  elsewhere.processes = {{"node", 5, "cc1plus", "", {}, 0.9}};
  EXPECT_FALSE(disturbance(between(look(1, 0, 0), elsewhere))) << "GPUs copy without processors";
  elsewhere.uses = {{"cpu0", "cpu", 1.0, 1.0}};
  elsewhere.seconds = 1;
  EXPECT_EQ(disturbance(elsewhere), "pid 5 (cc1plus) on node") << "threads do not";
}

TEST(Activity, NamesWhateverAProcessCallsItself) {
  EXPECT_EQ(printable_name("h\x1b[31mog\n\xff"), "h?[31mog??");
  EXPECT_EQ(printable_name(std::string(500, 'x')).size(), 64u);
}

/// A machine whose looks are a list; the last stays.
class ScriptedMachine final : public Machine {
 public:
  explicit ScriptedMachine(std::vector<Activity> looks) : looks_{std::move(looks)} {}
  std::string name() const override { return "host"; }
  const std::vector<Endpoint>& endpoints() const override { return endpoints_; }
  const Topology& topology() const override { return topology_; }
  const Software& software() const override { return software_; }
  Activity activity() override { return looks_.at(std::min(asked++, looks_.size() - 1)); }

  std::size_t asked = 0;

 private:
  std::vector<Activity> looks_;
  std::vector<Endpoint> endpoints_;
  Topology topology_;
  Software software_;
};

TEST(IdleWait, EndsWhenTheOthersDo) {
  ScriptedMachine machine({look(0, 0, 0), look(1, 5e9, 0), look(2, 10e9, 0), look(3, 10e9, 0)});
  const IdleWait wait = wait_until_idle(machine, Deadline::in(60), Deadline::in(60), 0.001);
  EXPECT_FALSE(wait.busy);
  EXPECT_EQ(machine.asked, 4u);
}

TEST(IdleWait, GivesUpWhenItsTimeIsOverAndSaysWho) {
  ScriptedMachine machine({look(0, 0, 0), look(1, 5e9, 0)});
  const IdleWait wait = wait_until_idle(machine, Deadline::in(0), Deadline::in(60), 0.001);
  ASSERT_TRUE(wait.busy);
  EXPECT_NE(busy_sentence(*wait.busy, 0).find("--wait-idle SECONDS"), std::string::npos);
}

TEST(IdleWait, EndsWithTheRun) {
  ScriptedMachine machine({look(0, 0, 0), look(1, 5e9, 0)});
  EXPECT_THROW(wait_until_idle(machine, Deadline::in(60), Deadline::in(0), 0.001), TimedOut);
}

/// A driver's answers.
class ReplayedUse final : public DeviceUseSource {
 public:
  DeviceUse use_of(std::size_t) override { return answers.at(std::min(asked++, answers.size() - 1)); }
  std::vector<DeviceUse> answers;
  std::size_t asked = 0;
};

DeviceUse answer(double bytes, std::vector<DeviceUse::Process> processes = {{100, "p2p_matrix", 1}}) {
  return {{{"nvlink_out", bytes}, {"nvlink_in", 0}, {"pcie_out", 0}, {"pcie_in", 0}},
          std::move(processes),
          std::vector<DeviceUse::Share>{{2983, 0.75, 0.25}, {100, 0.2, 0.1}}};
}

/// One device of a pair that NVLink joins, and what the run itself copied from it.
class DeviceActivityTest : public testing::Test {
 protected:
  void send(std::uint64_t bytes) {
    const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = bytes}};
    ledger.add_each_once(backend, copies);
  }
  Activity look() {
    Activity now;
    devices.add(now, ledger);
    return now;
  }
  ScriptedBackend backend{2, [](const Copy&, std::size_t) { return 1.0; }};
  ReplayedUse driver;
  TrafficLedger ledger;
  DeviceActivity devices{driver, {"dev0"}, 100, "p2p_matrix", {0.2, 0.001}};
};

const std::vector<DeviceUse::Process> with_hog{{100, "p2p_matrix", 1}, {2983, "hog", 77}};

TEST_F(DeviceActivityTest, SaysWhatTheRunDidNotSend) {
  driver.answers = {answer(1000, with_hog), answer(6000, with_hog), answer(6500, with_hog)};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").counted, 5500);
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").own, 2000);
  EXPECT_NEAR(*use_of(found, "dev0", "sm").counted, 0.75 * found.seconds, 1e-9) << "the run's own is left out";
  ASSERT_EQ(found.processes.size(), 1u);
  EXPECT_EQ(found.processes[0].pid, 2983u);
  EXPECT_EQ(found.processes[0].bytes, 77u);
}

TEST_F(DeviceActivityTest, WaitsForACounterThatIsRefreshedLate) {
  driver.answers = {answer(1000, with_hog), answer(1000, with_hog), answer(1000, with_hog), answer(3000, with_hog)};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").counted, 2000);
  EXPECT_EQ(driver.asked, 4u);
}

TEST_F(DeviceActivityTest, DoesNotWaitWhereNobodyElseHasTheDevice) {
  driver.answers = {answer(1000), answer(1000)};
  look();
  send(2000);
  const Activity after = look();
  EXPECT_EQ(driver.asked, 2u);
  EXPECT_FALSE(*after.shared);
  EXPECT_FALSE(use_of(after, "dev0", "nvlink_out").counted) << "it lacks what was sent, and is no answer";
}

TEST_F(DeviceActivityTest, IsNoAnswerWhereTheCounterLacksWhatWasSent) {
  driver.answers = {answer(1000, with_hog), answer(2000, with_hog)};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_FALSE(use_of(found, "dev0", "nvlink_out").counted);
  EXPECT_EQ(std::ranges::count(found.untold, "dev0: its counter nvlink_out had not counted all that was sent here"), 1);
}

TEST_F(DeviceActivityTest, SaysWhatTheDriverDoesNot) {
  driver.answers = {DeviceUse{}};
  const Activity before = look();
  const Activity found = between(before, look());
  EXPECT_FALSE(use_of(found, "dev0", "nvlink_out").counted);
  EXPECT_FALSE(use_of(found, "dev0", "sm").counted);
  EXPECT_TRUE(*found.shared) << "nobody knows";
  for (const char* what : {"dev0: the driver does not count nvlink_out", "dev0: the driver does not count pcie_in",
                           "dev0: the driver does not say which processes use it",
                           "dev0: the driver does not say how much of it each process uses"})
    EXPECT_EQ(std::ranges::count(found.untold, what), 1) << what;
}

TEST_F(DeviceActivityTest, KnowsItselfByNameWhereTheDriverNumbersProcessesOtherwise) {
  driver.answers = {answer(0, {{7777, "p2p_matrix", 1}, {2983, "hog", 1}})};
  ASSERT_EQ(look().processes.size(), 1u);
  driver.answers = {answer(0, {})};
  const Activity unlisted = look();
  EXPECT_EQ(
      std::ranges::count(unlisted.untold, "dev0: the driver does not list this process, so others may be missing too"),
      1);
}

TEST_F(DeviceActivityTest, WaitsNoMoreForLateCountersWhereNobodyIsListedAndTheRunHasWaitedEnough) {
  DeviceActivity quick{driver, {"dev0"}, 100, "p2p_matrix", {.most = 0.02, .between = 0.001, .unlisted = 0.01}};
  const auto asked_by_a_look = [&](const std::vector<DeviceUse::Process>& processes) {
    driver.answers = {answer(0, processes)};
    send(2000);
    const std::size_t before = driver.asked;
    Activity now;
    quick.add(now, ledger);
    return driver.asked - before;
  };
  asked_by_a_look({});
  EXPECT_GT(asked_by_a_look({}), 1u);
  EXPECT_EQ(asked_by_a_look({}), 1u);
  EXPECT_GT(asked_by_a_look(with_hog), 1u) << "whom the driver lists, it waits for";
}

TEST_F(DeviceActivityTest, DoesNotKnowWhatFailedCopiesMoved) {
  driver.answers = {answer(0, with_hog), answer(9000, with_hog), answer(9500, with_hog), answer(9900, with_hog)};
  const Activity before = look();
  const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = 2000}};
  EXPECT_THROW(ledger.account(backend, copies, []() -> Timeline { throw DeviceError("it hung"); }), DeviceError);
  const Activity after = look();
  EXPECT_FALSE(use_of(between(before, after), "dev0", "nvlink_out").own);
}

TEST(TrafficLedger, CountsEachCopyOnItsPath) {
  ScriptedBackend backend(2, [](const Copy&, std::size_t) { return 1.0; });
  backend.add_host_memory();
  TrafficLedger ledger;
  const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = 10, .repeats = 3},
                                 Copy{.source = 0, .destination = 1, .bytes = 10, .peer_access = false},
                                 Copy{.source = 2, .destination = 1, .bytes = 7},
                                 Copy{.source = 1, .destination = 1, .bytes = 5},
                                 Copy{.source = 0, .destination = 1, .bytes = 4096, .operation = Operation::chase}};
  const Timeline timeline = ledger.account(backend, copies, [&] { return backend.run(copies, Deadline::never()); });
  EXPECT_EQ(timeline.copies.size(), copies.size());
  EXPECT_DOUBLE_EQ(ledger.bytes("dev0", "nvlink_out"), 30);
  EXPECT_DOUBLE_EQ(ledger.bytes("dev1", "nvlink_in"), 30);
  EXPECT_DOUBLE_EQ(ledger.bytes("dev0", "pcie_out"), 10) << "staged through host memory";
  EXPECT_DOUBLE_EQ(ledger.bytes("dev1", "pcie_in"), 17);
  EXPECT_DOUBLE_EQ(ledger.bytes("numa0", "pcie_out"), 0);
  ledger.account(backend, copies, [&] { return backend.verify(copies, 1, Deadline::never()); });
  EXPECT_DOUBLE_EQ(ledger.bytes("dev0", "nvlink_out"), 40) << "each once";
  EXPECT_TRUE(ledger.take_known());
}

/// The kernel's files of a machine with two processors, below a folder of its own.
class ProcessorLookTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "proc");
    fs::create_symlink("100", root_ / "proc/self");
    task("100/", "p2p_matrix", 50, 200);
    task("101/", "p2p_matrix", 50, 300);  // another rank beside it
    task("50/", "mpirun", 1, 400);
    task("2983/", "a hog) R", 1, 1000);
    task("2/", "kthreadd", 0, 9);
    task("3/", "kworker", 2, 9);
    thread(100, "0-1", 1e8, 5e8);
    thread(102, "0", 2e9, 3e9);
    stat(300, 0);
    write("loadavg", "5.38 5.10 3.94 8/225 24361");
    write("pressure/cpu", "some avg10=97.08 avg60=95.16 avg300=70.42 total=2000000\nfull avg10=0 total=0");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / "proc" / file).parent_path());
    std::ofstream(root_ / "proc" / file) << text << '\n';
  }
  void task(const std::string& folder, const std::string& name, int parent, int ticks) const {
    write(folder + "stat", folder.substr(0, folder.size() - 1) + " (" + name + ") R " + std::to_string(parent) +
                               " 1 1 0 -1 4194304 0 0 0 0 " + std::to_string(ticks) + " 0 0 0 20 0 1 0 5");
  }
  void thread(int tid, const std::string& cores, double ran, double waited) const {
    const std::string folder = "100/task/" + std::to_string(tid) + "/";
    write(folder + "status", "Name:\tp2p_matrix\nCpus_allowed:\t3\nCpus_allowed_list:\t" + cores);
    write(folder + "schedstat",
          std::to_string(static_cast<long>(ran)) + " " + std::to_string(static_cast<long>(waited)) + " 7");
  }
  void stat(int user, int stolen) const {
    const std::string times = std::to_string(user) + " 0 0 100 0 0 0 " + std::to_string(stolen) + " 0 0";
    write("stat", "cpu  " + times + "\ncpu0 " + times + "\ncpu1 " + times + "\nintr 5");
  }
  fs::path root_ = own_folder("processor_look");
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
