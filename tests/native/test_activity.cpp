#include <gtest/gtest.h>

#include <algorithm>

#include "core/activity.hpp"
#include "core/disturbances.hpp"
#include "core/error.hpp"
#include "use_of.hpp"

namespace linkmatrix {
namespace {

Activity look(double seconds, std::optional<double> counted, std::optional<double> own) {
  Activity found;
  found.seconds = seconds;
  found.uses = {{"n1", "net_out", counted, own, "eth0"}};
  return found;
}

TEST(Activity, OfTwoPollsIsTheirDifference) {
  const Activity found = between(look(10, 500, 100), look(12, 900, 150));
  EXPECT_DOUBLE_EQ(found.seconds, 2);
  EXPECT_DOUBLE_EQ(*use_of(found, "n1", "net_out").counted, 400);
  EXPECT_DOUBLE_EQ(*use_of(found, "n1", "net_out").own, 50);
}

TEST(Activity, SaysNothingOfACounterThatFellOrWasSilent) {
  for (const auto& [before, after] :
       {std::pair<std::optional<double>, std::optional<double>>{500, 400}, {std::nullopt, 900}, {500, std::nullopt}})
    EXPECT_FALSE(use_of(between(look(1, before, 0), look(2, after, 0)), "n1", "net_out").counted);
  EXPECT_TRUE(between(Activity{}, look(2, 9, 0)).uses.empty()) << "there was no poll before";
}

TEST(Activity, ForgetsWhichBytesWereItsOwnWhereTheRunDidNotCountThem) {
  Activity found = between(look(1, 0, 0), look(2, 9, 5));
  found.uses.push_back({"cpu0", "cpu", 0.5, 0.5});
  forget_own_bytes(found);
  EXPECT_FALSE(use_of(found, "n1", "net_out").own);
  EXPECT_DOUBLE_EQ(*use_of(found, "n1", "net_out").counted, 9);
  EXPECT_TRUE(use_of(found, "cpu0", "cpu").own) << "time of cores is counted separately";
}

TEST(Activity, OfANodeIsTheDifferenceOfItsCountersAndWhatItsProcessesUsed) {
  Activity before, after;
  before.seconds = 1, after.seconds = 2;
  before.nodes = {{.node = "n1", .cores = 4, .busy = 100.0, .own_busy = 50.0, .kernel = 7}};
  after.nodes = {{.node = "n1", .cores = 4, .busy = 103.0, .own_busy = 51.0, .kernel = 7.5}};
  before.processes = {{"n1", 5, "hog", "", {}, 10.0}};
  after.processes = {{"n1", 5, "hog", "", {}, 11.5}, {"n1", 6, "daemon", "", {}, 0.25}};
  const NodeLoad node = between(before, after).nodes.at(0);
  EXPECT_EQ(node.cores, 4);
  EXPECT_EQ(node.busy, 3.0);
  EXPECT_EQ(node.own_busy, 1.0);
  EXPECT_EQ(node.kernel, 0.5);
  EXPECT_EQ(node.listed, 1.75);
  EXPECT_TRUE(between(Activity{}, after).nodes.empty());
}

TEST(Activity, RemembersAContextThatWasThereBetweenTwoPolls) {
  Activity before = look(1, 0, 0), middle = look(2, 0, 0);
  middle.processes = {{"gpu0", 7, "hog", "", 5, {}}, {"n1", 8, "daemon", "", {}, 3.0}};
  remember_contexts(before, middle);
  remember_contexts(before, middle);
  const Activity found = between(before, look(3, 0, 0));
  ASSERT_EQ(found.processes.size(), 1u);
  EXPECT_EQ(found.processes[0].name, "hog");
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

TEST(Activity, KnowsADeviceFromANodeOfTheSameName) {
  Activity daemons = look(2, 0, 0);  // on nodes that are called gpu0, gpu1 …
  daemons.processes = {{"gpu0", 1, "systemd", "root", {}, 0.0}};
  EXPECT_TRUE(single_poll_usage(daemons).processes.empty());
  Activity both = daemons;
  both.processes.push_back(
      {.where = "gpu0", .pid = 1, .name = "systemd", .user = "root", .bytes = {}, .seconds = {}, .on_device = true});
  EXPECT_EQ(between(daemons, both).processes.size(), 1u) << "the one on the device, and no more";
  EXPECT_EQ(single_poll_usage(both).processes.size(), 1u);
}

TEST(Activity, HasTheBusiestProcessesOfEachNode) {
  Activity before, after;
  before.seconds = 1, after.seconds = 2;
  for (unsigned pid = 1; pid <= 10; ++pid) after.processes.push_back({"n1", pid, "busy", "", {}, 0.5});
  after.processes.push_back({"n2", 7, "hog", "", {}, 0.3});
  const Activity found = between(before, after);
  EXPECT_EQ(std::ranges::count(found.processes, "n1", &OtherProcess::where), 8);
  EXPECT_EQ(std::ranges::count(found.processes, "n2", &OtherProcess::where), 1)
      << "those of another node push out nobody";
}

TEST(Activity, NamesWhateverAProcessCallsItself) {
  EXPECT_EQ(printable_name("h\x1b[31mog\n\xff"), "h?[31mog??");
  EXPECT_EQ(printable_name(std::string(500, 'x')).size(), 64u);
}

/// Polls of a machine where another process uses an adapter. The last poll repeats.
class ScriptedPolls {
 public:
  explicit ScriptedPolls(std::vector<Activity> polls) : polls_{std::move(polls)} {}
  std::function<Activity()> poll() {
    return [this] { return polls_.at(std::min(asked++, polls_.size() - 1)); };
  }
  std::size_t asked = 0;

 private:
  std::vector<Activity> polls_;
};

TEST(IdleWait, EndsWhenTheOthersDo) {
  ScriptedPolls machine({look(0, 0, 0), look(1, 5e9, 0), look(2, 10e9, 0), look(3, 10e9, 0)});
  const IdleWait wait = wait_until_idle(machine.poll(), Deadline::in(60), Deadline::in(60), 0.001);
  EXPECT_FALSE(wait.busy_sentence);
  EXPECT_EQ(machine.asked, 4u);
}

TEST(IdleWait, GivesUpWhenItsTimeIsOverAndSaysWho) {
  ScriptedPolls machine({look(0, 0, 0), look(1, 5e9, 0)});
  const IdleWait wait = wait_until_idle(machine.poll(), Deadline::in(0), Deadline::in(60), 0.001);
  ASSERT_TRUE(wait.busy_sentence);
  EXPECT_NE(busy_sentence(*wait.busy_sentence, 0).find("--wait-idle SECONDS"), std::string::npos);
}

TEST(IdleWait, EndsWithTheRun) {
  ScriptedPolls machine({look(0, 0, 0), look(1, 5e9, 0)});
  EXPECT_THROW(wait_until_idle(machine.poll(), Deadline::in(60), Deadline::in(0), 0.001), TimedOut);
}

}  // namespace
}  // namespace linkmatrix
