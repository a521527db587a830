#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "../proc_tree.hpp"
#include "../use_of.hpp"
#include "core/disturbances.hpp"
#include "core/error.hpp"
#include "no_memory.hpp"
#include "ranks/activity_message.hpp"
#include "ranks/rank_look.hpp"

namespace linkmatrix::ranks {
namespace {

/// A rank's device that others use.
class HeldDevice final : public DeviceWatch {
 public:
  DeviceState state() override { return {}; }
  void look(Activity& look, const std::string& label) override {
    look.shared = true;
    look.processes.push_back({label, 2983, "hog", "", 77, {}});
    look.processes.push_back({label, 2984, "", "", 77, {}});
  }
  unsigned driver_pid() const override { return 7; }
};

/// A rank that has it.
class WithDevice final : public NoMemory {
 public:
  DeviceWatch* device() override { return &device_; }

 private:
  HeldDevice device_;
};

/// A rank on a node with one processor.
class RankLookTest : public testing::Test {
 protected:
  RankLookTest() {
    proc_.task(100, "p2p_matrix", 1, 200);
    proc_.task(2983, "hog", 1, 1000);
    proc_.cores(2983, "0-3");
    proc_.task(3000, "daemon", 1, 5);
    proc_.write("stat", "cpu  300 0 0 100 0 0 0 0 0 0\ncpu0 300 0 0 100 0 0 0 0 0 0");
    proc_.write("100/task/100/status", "Cpus_allowed_list:\t0");
    proc_.write("100/task/100/schedstat", "2000000000 3000000000 7");
  }
  const ProcTree proc_{"rank_look"};
  NoMemory host_;
};

TEST_F(RankLookTest, OfTheFirstRankOfANodeHasWhoRanThereSinceTheRunBegan) {
  RankLook rank({.number = 0}, proc_.root);
  const Activity first = rank.now(host_);
  EXPECT_TRUE(first.processes.empty()) << "what they did before is nobody's business";
  EXPECT_DOUBLE_EQ(*use_of(first, this_rank, "cpu").counted, 5.0);
  proc_.task(2983, "hog", 1, 1300);
  proc_.task(3000, "daemon", 1, 6);
  proc_.task(4000, "newcomer", 1, 50);
  const Activity second = rank.now(host_);
  ASSERT_EQ(second.processes.size(), 2u) << "one that has done nothing is not sent";
  EXPECT_EQ(second.processes[0].name + "@" + second.processes[0].where, "hog@node");
  EXPECT_DOUBLE_EQ(*second.processes[0].lately, 3.0);
  EXPECT_EQ(second.processes[0].cores, "0-3");
  EXPECT_EQ(second.processes[1].name, "newcomer");
  ASSERT_EQ(second.nodes.size(), 1u);
  EXPECT_EQ(second.nodes[0].node, "node");
  proc_.task(2983, "successor", 1, 20);
  const Activity third = rank.now(host_);
  ASSERT_EQ(third.processes.size(), 1u) << "the others have done nothing since the look before";
  EXPECT_DOUBLE_EQ(*third.processes[0].lately, 0.2) << "another process has its number";
}

TEST_F(RankLookTest, ChargesAProcessThatWasNotAmongTheBusiestWithWhatItUsedSinceTheLookBefore) {
  RankLook rank({.number = 0}, proc_.root);
  for (int pid = 5001; pid <= 5017; ++pid) proc_.task(pid, "busy", 1, 100);
  rank.now(host_);
  for (int pid = 5001; pid <= 5017; ++pid) proc_.task(pid, "busy", 1, pid == 5017 ? 500 : 600);
  const Activity before = rank.now(host_);
  EXPECT_EQ(std::ranges::count(before.processes, 5017u, &OtherProcess::pid), 0);
  proc_.task(5017, "busy", 1, 550);
  proc_.task(5001, "busy", 1, 700);
  const Activity found = between(before, rank.now(host_));
  ASSERT_EQ(found.processes.size(), 2u);
  EXPECT_EQ(found.processes[1].pid, 5017u);
  EXPECT_DOUBLE_EQ(*found.processes[1].seconds, 0.5) << "not the 4 s of the look before too";
  EXPECT_DOUBLE_EQ(*found.processes[0].seconds, 1.0);
}

TEST_F(RankLookTest, OfTheOtherRanksHasTheirProcessorsAlone) {
  const Activity look = RankLook({.number = 1}, proc_.root).now(host_);
  EXPECT_TRUE(look.nodes.empty() && look.processes.empty());
  EXPECT_DOUBLE_EQ(*use_of(look, this_rank, "cpu").own, 2.0);
}

TEST_F(RankLookTest, OfRanksThatShareProcessorsCannotTellWhoseTurnItWas) {
  const Activity look = RankLook({.number = 1, .is_crowded = true}, proc_.root).now(host_);
  EXPECT_FALSE(use_of(look, this_rank, "cpu").counted);
  EXPECT_EQ(look.untold, std::vector<std::string>{"rank: it shares its processors with other ranks"});
}

TEST_F(RankLookTest, OfADeviceHasWhoUsesItAndNoProcessor) {
  WithDevice device;
  const Activity look = RankLook({.number = 1}, proc_.root).now(device);
  EXPECT_TRUE(look.uses.empty());
  ASSERT_EQ(look.processes.size(), 2u);
  EXPECT_EQ(look.processes[0].user, "uid " + std::to_string(::getuid()));
  EXPECT_EQ(look.processes[1].user, "") << "a process without a name may be of another namespace";
}

TEST_F(RankLookTest, OfTheFirstRankOfANodeHasWhoUsesItsGpus) {
  const auto gpus = [](Activity& now, const std::string& node) {
    for (const unsigned pid : {2983u, 100u, 0u})
      now.processes.push_back({.where = node + ":gpu1",
                               .pid = pid,
                               .name = pid == 0 ? "" : "some",
                               .user = "",
                               .bytes = 77,
                               .seconds = {},
                               .on_device = true});
    now.untold = {node + ":gpu2: the driver does not list the processes that use it"};
  };
  RankLook rank({.number = 0, .pids = {100}}, proc_.root, gpus);
  Activity all;
  add_look(all, unpack_activity(pack(rank.now(host_))), "n1:rank0", "n1");
  ASSERT_EQ(all.processes.size(), 2u) << "a rank of this run is no other process";
  EXPECT_EQ(all.processes[0].where, "n1:gpu1");
  EXPECT_EQ(all.processes[0].user, "uid " + std::to_string(::getuid()));
  EXPECT_EQ(all.processes[1].pid, 0u);
  EXPECT_EQ(all.untold, std::vector<std::string>{"n1:gpu2: the driver does not list the processes that use it"});
  Activity found = at_rest(all);
  decide_disturbances(found);
  ASSERT_EQ(found.disturbances.size(), 1u);
  EXPECT_EQ(found.disturbances[0].node, "n1");
  EXPECT_EQ(found.disturbances[0].where, "n1:gpu1");
  EXPECT_EQ(found.disturbances[0].pids, std::vector<unsigned>{2983});
}

Activity a_look() {
  Activity look;
  look.shared = true;
  look.uses = {{.label = this_rank, .of = "cpu", .counted = 5.5, .own = {}, .cores = "0-3"},
               {this_rank, "other", {}, 0.0}};
  look.nodes = {{.node = this_node,
                 .load = 1.5,
                 .cores = 64,
                 .stolen = 0.25,
                 .busy = 3e6,
                 .own_busy = {},
                 .kernel = 0.5,
                 .throttled = 4.25,
                 .quota = "cpu.max 5 10"}};
  look.processes = {{this_rank, 2983, "hog", "bob", 77, {}}, {this_node, 12, "a: b", "", {}, 3.5, 0.75, "0,8"}};
  look.processes.push_back(
      {.where = this_rank, .pid = 14, .name = "", .user = "", .bytes = {}, .seconds = {}, .on_device = true});
  look.untold = {"rank: it cannot be told: why", "node: neither"};
  return look;
}

TEST(ActivityMessage, BringsALookByTheNamesOfItsRankAndNode) {
  Activity all;
  add_look(all, unpack_activity(pack(Activity{})), "n1:rank0", "n1");
  EXPECT_TRUE(all.empty() && !all.shared);
  add_look(all, unpack_activity(pack(a_look())), "n2:rank1", "n2");
  Activity quiet = a_look();
  quiet.shared = false;
  add_look(all, unpack_activity(pack(quiet)), "n3:rank2", "n3");
  EXPECT_TRUE(*all.shared) << "somebody is on one of the devices";
  ASSERT_EQ(all.uses.size(), 4u);
  EXPECT_EQ(*use_of(all, "n2:rank1", "cpu").counted, 5.5);
  EXPECT_FALSE(use_of(all, "n2:rank1", "cpu").own || use_of(all, "n3:rank2", "other").counted);
  const NodeLoad& load = all.nodes.at(0);
  EXPECT_EQ(load.node, "n2");
  EXPECT_EQ(*load.load + *load.stolen + *load.busy + load.cores + load.kernel, 1.5 + 0.25 + 3e6 + 64 + 0.5);
  EXPECT_FALSE(load.own_busy);
  EXPECT_TRUE(load.throttled == 4.25 && load.quota == "cpu.max 5 10");
  EXPECT_EQ(use_of(all, "n2:rank1", "cpu").cores, "0-3");
  const OtherProcess &on_device = all.processes.at(0), &beside = all.processes.at(1);
  EXPECT_EQ(on_device.where + on_device.name + on_device.user, "n2:rank1hogbob");
  EXPECT_TRUE(on_device.bytes == 77u && !on_device.seconds && on_device.pid == 2983);
  EXPECT_EQ(beside.where + beside.name + beside.cores, "n2a: b0,8");
  EXPECT_EQ(beside.lately, 0.75);
  EXPECT_TRUE(on_device.is_on_device() && !beside.is_on_device() && all.processes.at(2).is_on_device());
  EXPECT_EQ(all.untold.at(0), "n2:rank1: it cannot be told: why");
  EXPECT_EQ(all.untold.at(1), "n2: neither");
}

TEST(ActivityMessage, RefusesBytesThatAreNotWhole) {
  std::vector<std::byte> whole = pack(a_look());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(unpack_activity(std::span(whole).first(bytes)), DeviceError) << bytes;
  whole.push_back(std::byte{0});
  EXPECT_THROW(unpack_activity(whole), DeviceError);
}

}  // namespace
}  // namespace linkmatrix::ranks
