#include <gtest/gtest.h>

#include <algorithm>

#include "core/activity.hpp"
#include "core/error.hpp"
#include "device/device_activity.hpp"
#include "program/idle.hpp"
#include "scripted_backend.hpp"
#include "use_of.hpp"

namespace linkmatrix {
namespace {

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

TEST(Activity, OthersHadNothingOfARanksProcessorsWhereTheirShareFellAndNobodyKnowsWhereTheseAreOthers) {
  const auto of_rank = [](const std::string& cores, double own, double busy, std::optional<double> others) {
    Activity found;
    found.uses = {
        {.label = "n1:rank0", .of = "cpu", .counted = own, .own = own, .cores = cores, .busy = busy, .others = others}};
    return found;
  };
  const Activity before = of_rank("0-1", 3, 9, 5.0);
  const auto others = [&](const Activity& after) { return use_of(between(before, after), "n1:rank0", "cpu").others; };
  EXPECT_EQ(others(of_rank("0-1", 4, 11, 5.5)), 0.5);
  EXPECT_EQ(others(of_rank("0-1", 5, 10, 4.9)), 0.0) << "its clock ticks more finely than the processors'";
  EXPECT_FALSE(others(of_rank("0-2", 4, 11, 9.0)));
  EXPECT_FALSE(others(of_rank("0-1", 4, 8, 4.0))) << "a processor was taken out";
  EXPECT_FALSE(others(of_rank("0-1", 4, 11, {})));
}

TEST(Activity, OfBytesThatTheRunDidNotCountNobodyKnowsWhichWereItsOwn) {
  Activity found = between(look(1, 0, 0), look(2, 9, 5));
  found.uses.push_back({"gpu0", "sm", 0.5, 0.0});
  lose_own_bytes(found);
  EXPECT_FALSE(use_of(found, "gpu0", "nvlink_out").own);
  EXPECT_DOUBLE_EQ(*use_of(found, "gpu0", "nvlink_out").counted, 9);
  EXPECT_TRUE(use_of(found, "gpu0", "sm").own) << "time of others is counted apart";
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

TEST(Activity, IsNoDisturbanceWhereAProcessOfANodeIsIdleWhoseAdaptersAreCounted) {
  Activity before, after;
  before.uses = after.uses = {{"n1", "net_out", 0.0, 0.0}, {"n1", "tcp_sent", 0.0, {}}, {"n1:rank0", "cpu", 1.0, 1.0}};
  before.seconds = 1, after.seconds = 2;
  after.processes = {{"n1", 5, "daemon", "", {}, 0.15}, {"n1", 6, "idler", "", {}, 0.05}};
  const Activity found = between(before, after);
  ASSERT_EQ(found.processes.size(), 1u) << "who did next to nothing is nobody";
  EXPECT_FALSE(disturbance(found)) << "a node's adapters are no device that a process could hold";
  after.processes[0].seconds = 0.5;
  EXPECT_EQ(disturbance(between(before, after)), "pid 5 (daemon) on n1");
  EXPECT_TRUE(at_rest(after).processes.empty());
}

/// Two ranks of a node that may use these cores, and what others did there for a second.
Activity beside_ranks(const std::string& cores, double others, std::vector<OtherProcess> processes) {
  Activity found;
  found.seconds = 1;
  for (const char* label : {"n1:rank0", "n1:rank1"})
    found.uses.push_back({.label = label, .of = "cpu", .counted = 1.0, .own = 1.0, .cores = cores, .others = others});
  found.processes = std::move(processes);
  return found;
}

OtherProcess daemon_on(const std::string& cores, double seconds) {
  return {.where = "n1", .pid = 5, .name = "daemon", .user = "", .bytes = {}, .seconds = seconds, .cores = cores};
}

TEST(Activity, BesideRanksIsADisturbanceWhereTheyWillWaitForIt) {
  EXPECT_EQ(disturbance(beside_ranks("0-1", 0.25, {daemon_on("0-127", 0.25)})), "pid 5 (daemon) on n1");
  EXPECT_EQ(disturbance(beside_ranks("0-1", 0.25, {daemon_on("", 0.25)})), "pid 5 (daemon) on n1")
      << "who may run anywhere, may run there";
  EXPECT_FALSE(disturbance(beside_ranks("0-127", 0.25, {daemon_on("0-127", 0.25)}))) << "there is room for it";
  EXPECT_FALSE(disturbance(beside_ranks("0-1", 0, {daemon_on("5", 0.25)}))) << "it runs where no rank does";
  EXPECT_FALSE(disturbance(beside_ranks("0-1", 0.15, {}))) << "so do clocks and loggers";
  EXPECT_FALSE(disturbance(beside_ranks("0-1", 0.05, {daemon_on("0-127", 0.25)}))) << "it ran elsewhere, mostly";
  Activity untold = beside_ranks("0-1", 0, {daemon_on("0-127", 0.25)});
  for (Use& use : untold.uses) use.others.reset();
  EXPECT_EQ(disturbance(untold), "pid 5 (daemon) on n1") << "nobody knows where";
}

TEST(Activity, BesideRanksIsADisturbanceWhereSomebodyComputesOnTheirNode) {
  EXPECT_EQ(disturbance(beside_ranks("0-1", 0, {daemon_on("64-127", 40)})), "pid 5 (daemon) on n1");
  Activity on_both_threads = beside_ranks("0,64", 0.98, {daemon_on("0,64", 0.98)});
  on_both_threads.uses.pop_back();
  EXPECT_EQ(disturbance(on_both_threads), "pid 5 (daemon) on n1") << "two threads of a core are no room for two";
  EXPECT_EQ(disturbance(beside_ranks("0-127", 1.5, {})),
            "processes that cannot be listed had 1.5 processors of n1:rank0");
}

TEST(Activity, BesideRanksIsADisturbanceThoughNobodyIsListed) {
  EXPECT_EQ(disturbance(beside_ranks("0-1", 0.9, {})),
            "processes that cannot be listed had 0.9 processors of n1:rank0");
}

TEST(Activity, OfAdaptersIsADisturbanceWhatCouldExplainASlowCell) {
  Activity found;
  found.seconds = 1;
  found.uses = {{"n1", "net_out", 0.15e9, 0.0, "mlx5_0", 50e9}};
  EXPECT_FALSE(disturbance(found)) << "0.3 % of what it carries, as to a file system";
  found.uses[0].counted = 0.9e9;
  EXPECT_TRUE(disturbance(found));
  found.uses[0] = {"n1", "net_out", 0.15e9, 0.0, "eth0"};
  EXPECT_TRUE(disturbance(found)) << "nobody knows what it carries";
}

TEST(Activity, HasTheBusiestProcessesOfEachNode) {
  Activity before, after;
  before.seconds = 1, after.seconds = 2;
  for (unsigned pid = 1; pid <= 10; ++pid) after.processes.push_back({"n1", pid, "busy", "", {}, 0.5});
  after.processes.push_back({"n2", 7, "hog", "", {}, 0.3});
  const Activity found = between(before, after);
  EXPECT_EQ(std::ranges::count(found.processes, "n1", &OtherProcess::where), 8);
  EXPECT_EQ(std::ranges::count(found.processes, "n2", &OtherProcess::where), 1) << "those of another push out nobody";
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
  DeviceActivity devices{driver, {"dev0"}, {100, 101}, "p2p_matrix", {0.2, 0.001}};
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

TEST_F(DeviceActivityTest, KeepsAShareThatTheDriverTellsWhileACounterIsWaitedFor) {
  DeviceUse early = answer(1000, with_hog), late = answer(3000, with_hog);
  early.shares->clear();
  driver.answers = {early, early, late};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_NEAR(*use_of(found, "dev0", "sm").counted, 0.75 * found.seconds, 1e-9);
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

TEST_F(DeviceActivityTest, OfSeveralRanksOfTheRunNoneIsAnother) {
  driver.answers = {answer(1000, {{100, "p2p_matrix", 1}, {101, "p2p_matrix", 1}})};
  look();
  EXPECT_FALSE(*look().shared);
  driver.answers = {answer(1000, {{101, "p2p_matrix", 1}, {300, "p2p_matrix", 1}})};
  const Activity found = look();
  ASSERT_EQ(found.processes.size(), 1u) << "of the same name, and of another run";
  EXPECT_EQ(found.processes[0].pid, 300u);
}

TEST_F(DeviceActivityTest, WhatNobodyCountedIsNotKnownAsTheRunsOwn) {
  driver.answers = {answer(1000, with_hog), answer(6000, with_hog)};
  const Activity before = look();
  ledger.lose();
  const Activity found = between(before, look());
  EXPECT_FALSE(use_of(found, "dev0", "nvlink_out").own);
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").counted, 5000);
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
  DeviceActivity quick{driver, {"dev0"}, {100}, "p2p_matrix", {.most = 0.02, .between = 0.001, .unlisted = 0.01}};
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

}  // namespace
}  // namespace linkmatrix
