#include <gtest/gtest.h>

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

TEST_F(NvmlAnswers, LeaveOutWhatIsNotSupported) {
  replay("nvmlDeviceGetEccMode = 3 1 1\n");
  const Nvml nvml;
  EXPECT_TRUE(nvml.state(pci).empty());
  EXPECT_TRUE(nvml.traffic(pci).empty());
  EXPECT_FALSE(nvml.known_processes(pci));
  unsigned long long since = 0;
  EXPECT_FALSE(nvml.shares(pci, since));
}

TEST_F(NvmlAnswers, SayWhoUsesADevice) {
  replay_file("h200.txt");
  const Nvml nvml;
  NvmlUse driver(nvml, {pci});
  const DeviceUse use = driver.use_of(0);
  EXPECT_EQ(use.traffic, (std::map<std::string, double>{
                             {"nvlink_out", 4096.0 * 1024}, {"nvlink_in", 8192.0 * 1024}, {"pcie_in", 77}}))
      << "in KiB and bytes; a counter of 32 bits wraps, and is none";
  ASSERT_TRUE(use.processes);
  ASSERT_EQ(use.processes->size(), 2u);
  EXPECT_EQ(use.processes->front().name, "hog");
  EXPECT_EQ(use.processes->front().bytes, 1073741824u);
  ASSERT_TRUE(use.shares);
  ASSERT_EQ(use.shares->size(), 1u);
  EXPECT_DOUBLE_EQ(use.shares->front().sm, 0.75);
  EXPECT_DOUBLE_EQ(use.shares->front().memory, 0.25);
  ASSERT_TRUE(driver.use_of(0).shares);
  EXPECT_TRUE(driver.use_of(0).shares->empty()) << "what was said is not said again";
}

TEST_F(NvmlAnswers, BecomeWhatOthersDidOnTheDevices) {
  Endpoint device;
  device.label = "gpu0";
  device.node = "n1";
  device.pci = pci;
  const std::string me = "process " + std::to_string(::getpid()) + " = me 5\n";
  replay("processes = 0\nutilizations = 0\nfield 138 = 0 3 1000\n" + me + "process 4194999 = hog 99\n");
  const Nvml nvml;
  DeviceLook look(nvml, {device});
  TrafficLedger ledger;
  const Activity before = look.now(ledger);
  replay("processes = 0\nutilizations = 0\nfield 138 = 0 3 3000\n" + me +
         "process 4194999 = hog 99\nutilization 4194999 = 9 100 50\n");
  const Activity found = between(before, look.now(ledger));
  EXPECT_EQ(found.shared, true);
  ASSERT_FALSE(found.uses.empty());
  EXPECT_EQ(found.uses.front().of, "nvlink_out");
  EXPECT_DOUBLE_EQ(*found.uses.front().counted, 2000.0 * 1024);
  ASSERT_FALSE(found.processes.empty());
  EXPECT_EQ(found.processes.front().pid, 4194999u);
  EXPECT_EQ(found.processes.front().where, "gpu0");
  EXPECT_EQ(found.nodes.at(0).node, "n1");
}

}  // namespace
}  // namespace linkmatrix::cuda
