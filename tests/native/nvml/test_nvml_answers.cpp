#include <gtest/gtest.h>
#include <unistd.h>

#include "answers.hpp"
#include "device/cuda/device_use.hpp"
#include "device/cuda/nvml.hpp"

namespace linkmatrix::cuda {
namespace {

TEST_F(NvmlAnswers, SayHowADeviceIsSet) {
  replay_file("h200.txt");
  const auto state = Nvml().state(pci);
  const std::map<std::string, std::string> wanted{{"compute_mode", "default"},
                                                  {"ecc", "on"},
                                                  {"ecc_pending", "off"},
                                                  {"fabric_bandwidth_degraded", "no"},
                                                  {"fabric_clique", "7"},
                                                  {"fabric_route_unhealthy", "yes"},
                                                  {"fabric_state", "completed"},
                                                  {"fabric_status", "0"},
                                                  {"memory_clock_most_mhz", "3201"},
                                                  {"mig", "off"},
                                                  {"mig_pending", "off"},
                                                  {"nvlinks", "3"},
                                                  {"nvlinks_active", "2"},
                                                  {"pages_pending", "no"},
                                                  {"pcie_generation", "1"},
                                                  {"pcie_generation_most", "5"},
                                                  {"pcie_width", "8"},
                                                  {"pcie_width_most", "16"},
                                                  {"persistence", "on"},
                                                  {"power_limit_default_w", "700"},
                                                  {"power_limit_enforced_w", "500"},
                                                  {"power_limit_w", "500"},
                                                  {"remap_failed", "no"},
                                                  {"remap_pending", "yes"},
                                                  {"sm_clock_most_mhz", "1980"}};
  EXPECT_EQ(state, wanted);
}

TEST_F(NvmlAnswers, SayNothingOfAFabricThatIsNotDone) {
  replay("fabric = 0 2 999 7 1\n");
  EXPECT_EQ(Nvml().state(pci), (std::map<std::string, std::string>{{"fabric_state", "in progress"}}));
}

TEST_F(NvmlAnswers, SayWhichNvlinkDomainADeviceIsIn) {
  replay("fabric = 0 3 0 7 0\nfabric_cluster = 0 18 52\n");
  EXPECT_EQ(Nvml().domain(pci), "12340000-0000-0000-0000-000000000000.7");
  EXPECT_EQ(Nvml().state(pci).at("fabric_cluster"), "12340000-0000-0000-0000-000000000000");
}

TEST_F(NvmlAnswers, SayNoNvlinkDomainOfSwitchesOfOneNodeOrBeforeRegistration) {
  replay("fabric = 0 3 0 7 0\n");
  EXPECT_EQ(Nvml().domain(pci), "") << "a node with NVSwitch: the cluster is all zeros";
  EXPECT_FALSE(Nvml().state(pci).contains("fabric_cluster"));
  replay("fabric = 0 2 0 7 0\nfabric_cluster = 0 18 52\n");
  EXPECT_EQ(Nvml().domain(pci), "") << "in progress";
  replay("fabric = 0 3 15 7 0\nfabric_cluster = 0 18 52\n");
  EXPECT_EQ(Nvml().domain(pci), "") << "completed with an error";
  replay("");
  EXPECT_EQ(Nvml().domain(pci), "") << "an old driver";
}

TEST_F(NvmlAnswers, LeaveOutWhatIsNotSupported) {
  replay("nvmlDeviceGetEccMode = 3 1 1\n");
  const Nvml nvml;
  EXPECT_TRUE(nvml.state(pci).empty());
  EXPECT_FALSE(nvml.processes(pci));
}

TEST_F(NvmlAnswers, SayWhoUsesADevice) {
  replay_file("h200.txt");
  const Nvml nvml;
  const DeviceProcesses processes = nvml.processes(pci);
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 2u);
  EXPECT_EQ(processes->front().name, "hog");
  EXPECT_EQ(processes->front().bytes, 1073741824u);
}

TEST_F(NvmlAnswers, ListAllProcessesOfADeviceThatManyUse) {
  std::string lines = "processes = 0\n";
  for (int pid = 1; pid <= 100; ++pid) lines += "process " + std::to_string(pid) + " = worker 5\n";
  replay(lines);
  EXPECT_EQ(Nvml().processes(pci).value().size(), 100u);
}

TEST_F(NvmlAnswers, SayHowMuchMemoryADeviceHas) {
  replay("memory = 0 5000\nmemory_total = 0 80000\nnvmlDeviceGetMigMode = 0 1 1\n");
  EXPECT_EQ(Nvml().memory_total(pci), 80000u);
  replay("memory = 3\n");
  EXPECT_FALSE(Nvml().memory_total(pci)) << "an old driver";
}

TEST_F(NvmlAnswers, SayHowMuchMemoryContextsUse) {
  replay("memory = 0 5000\nprocesses = 0\nprocess 7 = hog 3000\n");
  EXPECT_EQ(Nvml().memory_used(pci), 5000u);
  replay("memory = 0 5000\nprocesses = 0\nprocess 7 = hog 3000\ndrawing 7 = hog 3000\ndrawing 9 = Xorg 1500\n");
  EXPECT_EQ(Nvml().memory_used(pci), 3500u) << "without what only draws";
  replay("memory = 0 5000\nprocesses = 0\nnvmlDeviceGetMigMode = 0 0 1\n");
  EXPECT_EQ(Nvml().memory_used(pci), 5000u);
  for (const char* unfit : {"nvmlDeviceGetMigMode = 0 1 1\n", "nvmlDeviceGetC2cModeInfoV = 0 1\n"}) {
    replay("memory = 0 5000\nprocesses = 0\n" + std::string(unfit));
    EXPECT_FALSE(Nvml().memory_used(pci)) << unfit;
  }
  replay("memory = 3\nprocesses = 0\n");
  EXPECT_FALSE(Nvml().memory_used(pci)) << "an old driver";
}

/// One device of a node, used by this process.
class NvmlPoll : public NvmlAnswers {
 protected:
  static std::vector<Endpoint> device() {
    Endpoint one;
    one.label = "gpu0";
    one.node = "n1";
    one.pci = pci;
    return {one};
  }
  const unsigned self_ = static_cast<unsigned>(::getpid());
};

TEST_F(NvmlPoll, HasOtherProcessesOnADevice) {
  replay("processes = 0\nprocess " + std::to_string(self_) + " = me 5\nprocess 4194999 = hog 99\n");
  const Nvml nvml;
  DevicePoll poll(nvml, device(), {{OwnProcess::Listed::yes, self_}});
  const Activity before = poll.now(), found = between(before, poll.now());
  EXPECT_EQ(found.shared, true);
  ASSERT_FALSE(found.processes.empty());
  EXPECT_EQ(found.processes.front().pid, 4194999u);
  EXPECT_EQ(found.processes.front().where, "gpu0");
  EXPECT_EQ(found.nodes.at(0).node, "n1");
}

TEST_F(NvmlPoll, KnowsThisProcessByItsStepOfMemoryThoughADriverNumbersItInAnotherWay) {
  const auto lists = [&](std::uint64_t own) {
    replay("processes = 0\nprocess " + std::to_string(self_) + " = stranger 5\nprocess 4194999 = me " +
           std::to_string(own) + "\n");
  };
  lists(1000);
  const Nvml nvml;
  NvmlUse use(nvml, device());
  const OwnProcess own = find_own_process(use, 0, std::nullopt, self_, [&](std::uint64_t bytes) {
    lists(1000 + bytes);
    return std::make_shared<int>();
  });
  EXPECT_EQ(own.pid, 4194999u);
  DevicePoll poll(nvml, device(), {own});
  const Activity now = single_poll_usage(poll.now());
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.processes[0].pid, self_);
  EXPECT_EQ(now.processes[0].name + now.processes[0].user, "") << "the process of this number here is another one";
}

TEST_F(NvmlPoll, HasAContextThatTheDriverDoesNotList) {
  const std::string lines = "processes = 0\nprocess " + std::to_string(self_) + " = me 1000\n";
  replay(lines + "memory = 0 9001000\n");
  const Nvml nvml;
  DevicePoll poll(nvml, device(), {{OwnProcess::Listed::yes, self_}});
  EXPECT_TRUE(single_poll_usage(poll.now()).processes.empty());
  replay(lines + "memory = 0 558001000\n");
  const Activity now = single_poll_usage(poll.now());
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.processes[0].pid, 0u);
  EXPECT_EQ(now.processes[0].bytes, 558000000u);
  EXPECT_EQ(now.processes[0].name + now.processes[0].user, "");
}

TEST_F(NvmlPoll, HasTheContextsOnGpusOfTheNodeThatTheRunDoesNotUse) {
  replay("nvmlDeviceGetCount_v2 = 0 3\ngpu 1 = 15\nprocesses = 0\nprocess 4194999 = hog 99\nprocess " +
         std::to_string(self_) + " = me 5\n");
  const Nvml nvml;
  DevicePoll poll(nvml, device(), {{OwnProcess::Listed::yes, self_}});
  const Activity now = single_poll_usage(poll.now());
  ASSERT_EQ(now.processes.size(), 2u);
  EXPECT_EQ(now.processes[0].where, "gpu0") << "the run's own GPU once, by its own label";
  EXPECT_EQ(now.processes[1].where, "n1:gpu2");
  EXPECT_EQ(now.processes[1].pid, 4194999u);
}

TEST(SameDevice, ComparesPciIdsOfCudaAndOfNvml) {
  EXPECT_TRUE(same_device("0000:1b:00.0", "00000000:1B:00.0"));
  EXPECT_FALSE(same_device("0000:1b:00.0", "00000000:1C:00.0"));
}

/// Polls all GPUs of a node.
Activity poll_node() {
  Activity now;
  NodeGpus().add(now, "n1");
  return now;
}

TEST_F(NvmlPoll, OfANodeHasTheContextsOnAllGpusThatAnswer) {
  const std::string lines = "nvmlDeviceGetCount_v2 = 0 3\ngpu 1 = 15\nprocesses = 0\n";
  replay(lines + "process 4194999 = hog 99\nprocess " + std::to_string(self_) + " = me 5\n");
  const Activity now = poll_node();
  ASSERT_EQ(now.processes.size(), 2u);
  EXPECT_EQ(now.processes[0].where, "n1:gpu0");
  EXPECT_EQ(now.processes[1].where, "n1:gpu2") << "by the numbers of NVML";
  EXPECT_EQ(now.processes[1].pid, 4194999u);
  EXPECT_EQ(now.processes[1].name, "hog");
  EXPECT_TRUE(now.processes[1].is_on_device() && now.untold.empty());
  EXPECT_FALSE(now.shared) << "the run measures no GPU";
  replay(lines + "memory = 0 558001000\n");
  ASSERT_EQ(poll_node().processes.size(), 2u);
  EXPECT_EQ(poll_node().processes[0].pid, 0u) << "nor does the driver list the process";
}

TEST_F(NvmlPoll, OfANodeWithoutGpusAddsNothing) {
  replay("");
  EXPECT_TRUE(poll_node().empty());
  replay("nvmlDeviceGetCount_v2 = 0 0\n");
  EXPECT_TRUE(poll_node().empty());
}

}  // namespace
}  // namespace linkmatrix::cuda
