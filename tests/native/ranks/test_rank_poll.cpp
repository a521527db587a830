#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "../proc_tree.hpp"
#include "../use_of.hpp"
#include "core/disturbances.hpp"
#include "core/error.hpp"
#include "device/host/numa.hpp"
#include "no_memory.hpp"
#include "ranks/rank_poll.hpp"
#include "ranks/replies.hpp"

namespace linkmatrix::ranks {
namespace {

/// A rank's device that other processes use.
class HeldDevice final : public DeviceWatch {
 public:
  DeviceState state() override { return {}; }
  void poll(Activity& poll, const std::string& label) override {
    poll.shared = true;
    poll.processes.push_back({label, 2983, "hog", "", 77, {}});
    poll.processes.push_back({label, 2984, "", "", 77, {}});
  }
  unsigned driver_pid() const override { return 7; }
};

/// A rank with this device.
class WithDevice final : public NoMemory {
 public:
  DeviceWatch* device() override { return &device_; }

 private:
  HeldDevice device_;
};

/// A rank on a node with one processor.
class RankPollTest : public testing::Test {
 protected:
  RankPollTest() {
    proc_.task(100, "p2p_matrix", 1, 200);
    proc_.task(2983, "hog", 1, 1000);
    proc_.task(3000, "daemon", 1, 5);
    proc_.write("stat", "cpu  300 0 0 100 0 0 0 0 0 0\ncpu0 300 0 0 100 0 0 0 0 0 0");
  }
  const ProcTree proc_{"rank_poll"};
  NoMemory host_;
};

TEST_F(RankPollTest, OfTheFirstRankOfANodeHasWhoRanThereSinceTheRunBegan) {
  RankPoll rank({.number = 0}, proc_.root);
  const Activity first = rank.now(host_);
  EXPECT_TRUE(first.processes.empty()) << "what they did before is nobody's business";
  proc_.task(2983, "hog", 1, 1300);
  proc_.task(3000, "daemon", 1, 6);
  proc_.task(4000, "newcomer", 1, 50);
  const Activity second = rank.now(host_);
  ASSERT_EQ(second.processes.size(), 2u) << "one that has done nothing is not sent";
  EXPECT_EQ(second.processes[0].name + "@" + second.processes[0].where, "hog@node");
  EXPECT_DOUBLE_EQ(*second.processes[0].lately, 3.0);
  EXPECT_EQ(second.processes[1].name, "newcomer");
  ASSERT_EQ(second.nodes.size(), 1u);
  EXPECT_EQ(second.nodes[0].node, "node");
  proc_.task(2983, "successor", 1, 20);
  const Activity third = rank.now(host_);
  ASSERT_EQ(third.processes.size(), 1u) << "the others have done nothing since the look before";
  EXPECT_DOUBLE_EQ(*third.processes[0].lately, 0.2) << "another process has its number";
}

TEST_F(RankPollTest, ChargesAProcessThatWasNotAmongTheBusiestWithWhatItUsedSinceTheLookBefore) {
  RankPoll rank({.number = 0}, proc_.root);
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

TEST_F(RankPollTest, OfTheOtherRanksHasTheirProcessorsAlone) {
  const Activity look = RankPoll({.number = 1}, proc_.root).now(host_);
  EXPECT_TRUE(look.nodes.empty() && look.processes.empty());
  EXPECT_GT(*use_of(look, this_rank, "cpu").own, 0);
  EXPECT_EQ(use_of(look, this_rank, "cpu").cores, cpu_list_text(allowed_set().cores()));
}

TEST_F(RankPollTest, OfADeviceHasWhoUsesItAndNoProcessor) {
  WithDevice device;
  const Activity look = RankPoll({.number = 1}, proc_.root).now(device);
  EXPECT_TRUE(look.uses.empty());
  ASSERT_EQ(look.processes.size(), 2u);
  EXPECT_EQ(look.processes[0].user, "uid " + std::to_string(::getuid()));
  EXPECT_EQ(look.processes[1].user, "") << "a process without a name may be of another namespace";
}

TEST_F(RankPollTest, OfTheFirstRankOfANodeHasWhoUsesItsGpus) {
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
  RankPoll rank({.number = 0, .pids = {100}}, proc_.root, gpus);
  Activity all;
  add_poll(all, unpack<Activity>(pack(rank.now(host_))), "n1:rank0", "n1");
  ASSERT_EQ(all.processes.size(), 2u) << "a rank of this run is no other process";
  EXPECT_EQ(all.processes[0].where, "n1:gpu1");
  EXPECT_EQ(all.processes[0].user, "uid " + std::to_string(::getuid()));
  EXPECT_EQ(all.processes[1].pid, 0u);
  EXPECT_EQ(all.untold, std::vector<std::string>{"n1:gpu2: the driver does not list the processes that use it"});
  Activity found = single_poll_usage(all);
  decide_disturbances(found);
  ASSERT_EQ(found.disturbances.size(), 1u);
  EXPECT_EQ(found.disturbances[0].node, "n1");
  EXPECT_EQ(found.disturbances[0].where, "n1:gpu1");
  EXPECT_EQ(found.disturbances[0].pids, std::vector<unsigned>{2983});
}

Activity a_poll() {
  Activity look;
  look.shared = true;
  look.uses = {{.label = this_rank, .of = "cpu", .counted = {}, .own = 5.5, .cores = "0-3"},
               {this_rank, "other", {}, {}}};
  look.nodes = {{.node = this_node, .cores = 64, .busy = 3e6, .own_busy = {}, .kernel = 0.5}};
  look.processes = {{this_rank, 2983, "hog", "bob", 77, {}}, {this_node, 12, "a: b", "", {}, 3.5, 0.75}};
  look.processes.push_back(
      {.where = this_rank, .pid = 14, .name = "", .user = "", .bytes = {}, .seconds = {}, .on_device = true});
  look.untold = {"rank: it cannot be told: why", "node: neither"};
  return look;
}

TEST(Replies, BringAPollByTheNamesOfItsRankAndNode) {
  Activity all;
  add_poll(all, unpack<Activity>(pack(Activity{})), "n1:rank0", "n1");
  EXPECT_TRUE(all.empty() && !all.shared);
  add_poll(all, unpack<Activity>(pack(a_poll())), "n2:rank1", "n2");
  Activity quiet = a_poll();
  quiet.shared = false;
  add_poll(all, unpack<Activity>(pack(quiet)), "n3:rank2", "n3");
  EXPECT_TRUE(*all.shared) << "somebody is on one of the devices";
  ASSERT_EQ(all.uses.size(), 4u);
  EXPECT_EQ(*use_of(all, "n2:rank1", "cpu").own, 5.5);
  EXPECT_FALSE(use_of(all, "n2:rank1", "other").own);
  const NodeLoad& load = all.nodes.at(0);
  EXPECT_EQ(load.node, "n2");
  EXPECT_EQ(*load.busy + load.cores + load.kernel, 3e6 + 64 + 0.5);
  EXPECT_FALSE(load.own_busy);
  EXPECT_EQ(use_of(all, "n2:rank1", "cpu").cores, "0-3");
  const OtherProcess &on_device = all.processes.at(0), &beside = all.processes.at(1);
  EXPECT_EQ(on_device.where + on_device.name + on_device.user, "n2:rank1hogbob");
  EXPECT_TRUE(on_device.bytes == 77u && !on_device.seconds && on_device.pid == 2983);
  EXPECT_EQ(beside.where + beside.name, "n2a: b");
  EXPECT_EQ(beside.lately, 0.75);
  EXPECT_TRUE(on_device.is_on_device() && !beside.is_on_device() && all.processes.at(2).is_on_device());
  EXPECT_EQ(all.untold.at(0), "n2:rank1: it cannot be told: why");
  EXPECT_EQ(all.untold.at(1), "n2: neither");
}

TEST(Replies, OfWhichBytesAreMissingAreRefused) {
  std::vector<std::byte> whole = pack(a_poll());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(unpack<Activity>(std::span(whole).first(bytes)), DeviceError) << bytes;
  whole.push_back(std::byte{0});
  EXPECT_THROW(unpack<Activity>(whole), DeviceError);
}

RankFacts rank(const std::string& node, const std::string& boot, const std::string& device, unsigned pid) {
  RankFacts facts;
  put(facts.node, node), put(facts.boot, boot), put(facts.device, device);
  facts.driver_pid = pid;
  return facts;
}

std::vector<unsigned> others(const DriverPids& pids, std::vector<OtherProcess> processes) {
  Activity poll;
  poll.processes = std::move(processes);
  pids.remove_ranks(poll);
  std::vector<unsigned> left;
  for (const OtherProcess& process : poll.processes) left.push_back(process.pid);
  return left;
}

OtherProcess on(const std::string& device, unsigned pid) {
  return {.where = device, .pid = pid, .name = "p2p_matrix", .user = "", .bytes = {}, .seconds = {}, .on_device = true};
}

TEST(DriverPids, OfTheRanksOfASystemAreNoOtherProcesses) {
  const DriverPids pids(
      std::vector{rank("n1", "a", "gpu0", 10), rank("n1", "a", "gpu1", 11), rank("n2", "b", "gpu0", 12)});
  EXPECT_EQ(others(pids, {on("n1:gpu0", 11), on("n1:gpu0", 12), on("n2:gpu0", 10), on("n2:gpu0", 12)}),
            (std::vector<unsigned>{12, 10}))
      << "a number of another node is another process";
  EXPECT_EQ(others(pids, {{"n1", 10, "hog", "", {}, 1.0}}), std::vector<unsigned>{10})
      << "processes of the node are numbered by its kernel";
  const DriverPids of_one_system(std::vector{rank("n1", "a", "gpu0", 10), rank("n2", "a", "gpu1", 11)});
  EXPECT_TRUE(others(of_one_system, {on("n1:gpu0", 11), on("n2:gpu1", 10)}).empty());
  const DriverPids unknown(std::vector{rank("n1", "a", "gpu0", 0)});
  EXPECT_EQ(others(unknown, {on("n1:gpu0", 0), on("n1:gpu0", 5)}).size(), 2u) << "the rank does not know itself";
}

NodeFacts a_node() {
  NodeFacts node{"n3", "0123", "", "HGX H200", "6.1", "b00t", "2.1b", "X13", {}};
  for (const int numa : {-1, 1}) {
    AdapterPort& port = node.adapters.emplace_back();
    port.name = "mlx5_" + std::to_string(numa);
    port.part = {{"guid", "b8ce:f603"}, {"firmware", "28.39"}};
    port.place = {{"port", "1"}};
    port.state = "ACTIVE";
    port.rate = "400 Gb/sec (4X NDR)";
    port.numa = numa;
    port.physical_state = "LinkUp";
    port.interfaces = {{{"name", "ib0"}, {"state", "up"}}, {{"name", "ib1"}}};
    port.pcie = {{"width", "16"}};
    port.gpus = {{"0000:1b:00.0", "PIX", 3, true}, {"0000:43:00.0", "SYS", 0, false}};
    port.counters = {{{"symbol_error", 3}}, {{"np_cnp_sent", 1e15}, {"port_xmit_wait", 0}}};
  }
  return node;
}

TEST(NodeMessage, BringsWhatANodeSaysOfItself) {
  const NodeFacts sent = a_node(), node = unpack<NodeFacts>(pack(sent));
  EXPECT_EQ(
      node.name + "|" + node.machine + "|" + node.serial + "|" + node.product + "|" + node.kernel + "|" + node.boot,
      "n3|0123||HGX H200|6.1|b00t");
  EXPECT_EQ(node.bios + "|" + node.board, "2.1b|X13");
  ASSERT_EQ(node.adapters.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    const AdapterPort &from = sent.adapters[k], &to = node.adapters[k];
    EXPECT_EQ(to.name, from.name);
    EXPECT_EQ(to.part, from.part);
    EXPECT_EQ(to.place, from.place);
    EXPECT_EQ(to.state + to.rate + to.link_layer, from.state + from.rate + from.link_layer);
    EXPECT_EQ(to.numa, from.numa);
    EXPECT_EQ(to.physical_state, from.physical_state);
    EXPECT_EQ(to.interfaces, from.interfaces);
    EXPECT_EQ(to.pcie, from.pcie);
    EXPECT_EQ(to.counters.errors, from.counters.errors);
    EXPECT_EQ(to.counters.congestion, from.counters.congestion);
    ASSERT_EQ(to.gpus.size(), from.gpus.size());
    for (std::size_t g = 0; g < from.gpus.size(); ++g) {
      EXPECT_EQ(to.gpus[g].pci + to.gpus[g].link_class, from.gpus[g].pci + from.gpus[g].link_class);
      EXPECT_EQ(to.gpus[g].bridges, from.gpus[g].bridges);
      EXPECT_EQ(to.gpus[g].nearest, from.gpus[g].nearest);
    }
  }
}

TEST(NodeMessage, RefusesBytesThatAreNotWhole) {
  const std::vector<std::byte> whole = pack(a_node());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(unpack<NodeFacts>(std::span(whole).first(bytes)), DeviceError) << bytes;
  std::vector<std::byte> more = whole;
  more.push_back(std::byte{0});
  EXPECT_THROW(unpack<NodeFacts>(more), DeviceError);
}

}  // namespace

}  // namespace linkmatrix::ranks
