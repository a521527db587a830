#include <gtest/gtest.h>

#include <algorithm>

#include "core/activity.hpp"
#include "core/error.hpp"
#include "program/idle.hpp"
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

TEST(Activity, IsNoDisturbanceOnADeviceThatItsNodeIsCalledAs) {
  Activity daemons = look(2, 0, 0);  // a node of gpu0, gpu1, gpu2 …
  daemons.processes = {{"gpu0", 1, "systemd", "root", {}, 0.0}};
  daemons.nodes = {{"gpu0", {}, {}, {}, {}, {}}};
  EXPECT_FALSE(disturbance(between(look(1, 0, 0), daemons)));
  EXPECT_TRUE(at_rest(daemons).processes.empty());
  Activity both = daemons;
  both.processes.push_back(
      {.where = "gpu0", .pid = 1, .name = "systemd", .user = "root", .bytes = {}, .seconds = {}, .on_device = true});
  EXPECT_EQ(between(daemons, both).processes.size(), 1u) << "what of it is on the device, and no more";
}

/// A node of which these looks' processors were busy for so long, in a second.
Activity busy_node(double busy, std::vector<OtherProcess> processes) {
  Activity before, after;
  before.seconds = 1, after.seconds = 2;
  before.uses = after.uses = {{"cpu0", "cpu", 0.0, 0.0}};
  before.nodes = {{"n1", {}, {}, {}, 100.0, 50.0, {{0, 7.0}}}};
  after.nodes = {{"n1", {}, {}, {}, 100.0 + busy, 51.0, {{0, 7.5}, {1, 0.25}}}};
  for (const OtherProcess& one : processes) {
    OtherProcess earlier = one;
    earlier.seconds = 0.0;
    before.processes.push_back(earlier);
  }
  after.processes = std::move(processes);
  return between(before, after);
}

TEST(Activity, OfARunThatItsOwnQuotaHeldBackSaysSo) {
  const auto with_quota = [](double throttled, const std::string& quota) {
    Activity found;
    found.nodes = {{"n1", {}, {}, {}, {}, {}, {}, 0, throttled, quota}};
    return found;
  };
  const Activity before = with_quota(10, "cpu.max 50000 100000");
  EXPECT_EQ(held_back(between(before, with_quota(14.2, "cpu.max 50000 100000"))),
            std::vector<std::string>{
                "n1: the job's CPU quota held it back for 4.2 s (cpu.max 50000 100000): give it more cores"});
  EXPECT_TRUE(held_back(between(before, with_quota(10.05, "cpu.max 50000 100000"))).empty());
  EXPECT_TRUE(held_back(between(before, with_quota(14, "cpu.max 90000 100000"))).empty()) << "another group's counter";
  EXPECT_TRUE(held_back(between(Activity{}, before)).empty());
}

TEST(Activity, IsNoDisturbanceWhatTheRunItsHelpersAndIdleDaemonsUsed) {
  EXPECT_FALSE(disturbance(busy_node(2.0, {})));
  EXPECT_EQ(disturbance(busy_node(3.0, {})), "processes that cannot be listed had 1.2 processors of n1");
  std::vector<OtherProcess> daemons;
  for (unsigned pid = 1; pid <= 30; ++pid) daemons.push_back({"n1", pid, "daemon", "", {}, 0.09});
  EXPECT_FALSE(disturbance(busy_node(4.5, daemons))) << "each of them does next to nothing";
  Activity of_devices = busy_node(9.0, {});
  of_devices.uses.clear();
  EXPECT_FALSE(disturbance(of_devices)) << "GPUs copy without processors";
}

TEST(Activity, WhereProcessorsCopyIsADisturbanceThoughNobodyIsListed) {
  Activity inside;  // a container: the processes of others are hidden, the kernel's counters are not
  inside.seconds = 0.5;
  inside.uses = {{"cpu0", "cpu", 0.05, 0.0}, {"cpu1", "cpu", 0.0, 0.0}};
  inside.nodes = {{"n1", 15.9, 0.5, 0.0, 1.0, 0.0}};  // both processors worked all the time, and not for the run
  EXPECT_TRUE(disturbance(inside));
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

}  // namespace
}  // namespace linkmatrix
