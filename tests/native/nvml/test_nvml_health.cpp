// Error counters of a device, and refusals of a driver for MIG or shared devices.
#include <gtest/gtest.h>

#include "answers.hpp"
#include "device/cuda/device_use.hpp"

namespace linkmatrix::cuda {
namespace {

using Counters = std::map<std::string, double>;

/// What a driver answers; its statuses: 0 success, 3 not supported, 4 no permission, 15 the device fell off the bus.
class NvmlHealth : public NvmlAnswers {
 protected:
  static std::vector<Endpoint> device() {
    Endpoint one;
    one.label = "gpu0";
    one.node = "n1";
    one.pci = pci;
    return {one};
  }
};

const std::string errors =
    "ecc 0 = 0 7\necc 1 = 0 0\nnvlink 0 0 = 0 1\nnvlink 17 0 = 0 2\nnvlink 3 1 = 0 4\n"
    "nvmlDeviceGetPcieReplayCounter = 0 5\nnvmlDeviceGetRemappedRows = 0 1 2 0 0\nnvmlDeviceRegisterEvents = 0\n";

TEST_F(NvmlHealth, CountsEccErrorsReplaysAndXidEventsAsTheyCome) {
  replay(errors);
  Nvml nvml;
  HealthReader reader(nvml, device());
  EXPECT_EQ(reader.states().at(0).counters, (Counters{{"ecc_corrected", 7},
                                                      {"ecc_uncorrected", 0},
                                                      {"nvlink_replay", 3},
                                                      {"nvlink_recovery", 4},
                                                      {"pcie_replay", 5},
                                                      {"remapped_rows", 3},
                                                      {"xid", 0}}));
  replay(errors + "xid 1 = 48\nxid 2 = 79\nxid 3 = 48\n");
  auto counters = reader.states().at(0).counters;
  EXPECT_EQ(counters["xid"], 3);
  EXPECT_EQ(counters["xid_48"], 2);
  EXPECT_EQ(counters["xid_79"], 1);
  EXPECT_EQ(reader.states().at(0).counters, counters) << "each event comes once, and none is forgotten";
}

TEST_F(NvmlHealth, OfADeviceThatFellOffTheBusIsItsLastXidAndNoCountThatIsNotTrue) {
  replay(errors);
  Nvml nvml;
  HealthReader reader(nvml, device());
  reader.states();
  replay("ecc 0 = 15\necc 1 = 15\nnvlink 0 0 = 15\nnvmlDeviceGetPcieReplayCounter = 15\nxid 1 = 79\n");
  EXPECT_EQ(reader.states().at(0).counters, (Counters{{"xid", 1}, {"xid_79", 1}}));
}

TEST_F(NvmlHealth, IsNotKnownWhereADriverRefusesToWatchADeviceInParts) {
  replay("ecc 0 = 3\necc 1 = 3\nnvmlDeviceRegisterEvents = 3\n");
  Nvml nvml;
  HealthReader reader(nvml, device());
  EXPECT_TRUE(reader.states().at(0).counters.empty()) << "no count is another thing than a count of 0";
}

TEST_F(NvmlHealth, SaysWhatHoldsADeviceBack) {
  replay("throttled = 0 " + std::to_string(0x04 | 0x40 | 0x01) + "\n");
  Nvml nvml;
  EXPECT_EQ(HealthReader(nvml, device()).throttle_reasons(),
            (std::vector<std::string>{"gpu0: power cap", "gpu0: too warm (hardware)"}));
}

TEST_F(NvmlHealth, OfUsersIsNotKnownWhereADriverDoesNotLetOneAsk) {
  replay("nvmlDeviceRegisterEvents = 4\n");
  Nvml nvml;
  EXPECT_FALSE(nvml.processes(pci));
  EXPECT_FALSE(HealthReader(nvml, device()).states().at(0).counters.contains("xid"));
}

/// With MPS the driver lists the server and none of its clients. The context of this process is missing and the other
/// clients are unknown, so the server counts as another process.
TEST_F(NvmlHealth, NamesTheServerOfMpsThatHidesItsClients) {
  replay("processes = 0\nprocess 4194999 = nvidia-cuda-mps-server 99\n");
  const Nvml nvml;
  DevicePoll poll(nvml, device(), {OwnProcess{}});
  const Activity before = poll.now(), found = between(before, poll.now());
  EXPECT_EQ(found.shared, true);
  ASSERT_FALSE(found.processes.empty());
  EXPECT_EQ(found.processes.front().name, "nvidia-cuda-mps-server");
  EXPECT_EQ(found.processes.front().where, "gpu0");
}

}  // namespace
}  // namespace linkmatrix::cuda
