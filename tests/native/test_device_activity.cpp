#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "core/activity.hpp"
#include "core/units.hpp"
#include "device/device_activity.hpp"
#include "fake_driver.hpp"

namespace linkmatrix {
namespace {

Activity poll(FakeDriver& driver, OwnProcess own) {
  Activity now;
  DeviceActivity(driver, {"gpu0"}, {own}, self).add(now);
  return now;
}

TEST(DeviceActivity, HasAllProcessesButItsOwn) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 1}, {2983, "hog", 77}, {300, "p2p_matrix", 1}};
  const Activity now = poll(driver, {Listed::yes, self});
  ASSERT_EQ(now.processes.size(), 2u) << "another run of the same program is another process";
  EXPECT_EQ(now.processes[0].name, "hog");
  EXPECT_EQ(now.processes[0].bytes, 77u);
  EXPECT_TRUE(now.untold.empty());
  EXPECT_EQ(single_poll_usage(now).shared, true);
  driver.processes.resize(1);
  EXPECT_EQ(single_poll_usage(poll(driver, {Listed::yes, self})).shared, false);
}

TEST(DeviceActivity, HasProcessesOfWhichNoMemoryIsReported) {
  FakeDriver driver;
  driver.processes = {{2983, "hog", {}}};
  const Activity now = poll(driver, {Listed::yes, self});
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_TRUE(now.processes[0].is_on_device());
}

TEST(DeviceActivity, NamesNobodyByNumbersOfAnotherNamespace) {
  FakeDriver driver;
  driver.processes = {{7777, "p2p_matrix", 1}, {self, "hog", 1}};
  const Activity now = poll(driver, {Listed::yes, 7777});
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.processes[0].pid, self);
  EXPECT_EQ(now.processes[0].name, "") << "the name is that of a process of this namespace";
}

TEST(DeviceActivity, OfADeviceThatDoesNotListThisProcessHasAllOthers) {
  FakeDriver driver;
  driver.processes = {{2983, "hog", 1}};
  const Activity now = poll(driver, {Listed::no, 0});
  EXPECT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.shared, true) << "others may be missing too";
  EXPECT_EQ(now.untold.size(), 1u);
}

TEST(DeviceActivity, ReportsThatProcessesCannotBeToldApart) {
  FakeDriver driver;
  driver.processes = {{2983, "hog", 1}, {55, "nvidia-cuda-mps-server", 1}};
  const Activity now = poll(driver, {});
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.processes[0].pid, 55u) << "the server of MPS is never this process";
  EXPECT_EQ(now.shared, true);
  EXPECT_EQ(now.untold, std::vector<std::string>{"gpu0: this process cannot be distinguished from "
                                                 "other processes on the device"});
  driver.tells = false;
  EXPECT_EQ(poll(driver, {Listed::yes, self}).untold,
            std::vector<std::string>{"gpu0: the driver does not list the processes that use it"});
}

TEST(DeviceActivity, HasAnUnnamedProcessWhereThisProcessIsOneOfSeveral) {
  FakeDriver driver;
  driver.processes = {{4711, "p2p_matrix", {}}, {2983, "hog", {}}};
  const Activity now = poll(driver, {});
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.processes[0].pid, 0u);
  EXPECT_EQ(now.processes[0].name, "");
  EXPECT_TRUE(now.processes[0].is_on_device());
  driver.processes.resize(1);
  EXPECT_TRUE(poll(driver, {}).processes.empty()) << "the only one may be this process";
}

TEST(DeviceActivity, HasAProcessThatTheDriverDoesNotListByItsMemory) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 518 * MiB}};
  driver.used = 1051 * MiB;
  const Activity now = poll(driver, {Listed::yes, self});
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_EQ(now.processes[0].where, "gpu0");
  EXPECT_EQ(now.processes[0].pid, 0u);
  EXPECT_EQ(now.processes[0].name, "");
  EXPECT_EQ(now.processes[0].bytes, 533 * MiB);
  EXPECT_TRUE(now.processes[0].is_on_device());
  driver.processes.push_back({2983, "hog", 533 * MiB});
  EXPECT_EQ(poll(driver, {Listed::yes, self}).processes.size(), 1u) << "now the driver lists the process";
}

TEST(DeviceActivity, HasNoProcessByTheLittleMemoryThatTheDriverItselfUses) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 518 * MiB}};
  for (const std::uint64_t more : {0 * MiB, 9 * MiB, 80 * MiB}) {
    driver.used = 518 * MiB + more;
    EXPECT_TRUE(poll(driver, {Listed::yes, self}).processes.empty()) << more;
  }
  driver.used = 100 * MiB;
  EXPECT_TRUE(poll(driver, {Listed::yes, self}).processes.empty()) << "shared memory is reported of two processes";
}

TEST(DeviceActivity, HasNoProcessByTheLittleMemoryThatTheDriverUsesForEachOfManyRanks) {
  FakeDriver driver;
  constexpr unsigned ranks = 12;
  for (unsigned rank = 0; rank < ranks; ++rank) driver.processes.push_back({self + rank, "p2p_matrix", 518 * MiB});
  driver.used = ranks * 527 * MiB;
  EXPECT_EQ(poll(driver, {Listed::yes, self}).processes.size(), ranks - 1);
  *driver.used += 533 * MiB;
  EXPECT_EQ(poll(driver, {Listed::yes, self}).processes.size(), ranks);
}

TEST(DeviceActivity, ConcludesNothingFromMemoryWhereTheDriverDoesNotReportAllOfIt) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 518 * MiB}};
  driver.used = 2 * GiB;
  for (const OwnProcess own :
       {OwnProcess{Listed::no, 0}, OwnProcess{Listed::unknown, 0}, OwnProcess{Listed::yes, 99}}) {
    const Activity now = poll(driver, own);
    EXPECT_EQ(std::ranges::count(now.processes, 0u, &OtherProcess::pid), 0) << "this process is not in the list";
  }
  driver.tells_bytes = false;
  EXPECT_TRUE(poll(driver, {Listed::yes, self}).processes.empty()) << "this process's own memory is not reported";
  driver.tells_bytes = true;
  driver.used.reset();
  EXPECT_TRUE(poll(driver, {Listed::yes, self}).processes.empty()) << "the memory in use is not reported";
}

/// Whether others hold the memory of a device on which this process is known as `own`.
bool has_other_memory_holders(FakeDriver& driver, OwnProcess own) {
  return DeviceActivity(driver, {"gpu0"}, {own}, self).has_other_memory_holders(0);
}

TEST(DeviceActivity, OfADeviceWithoutContextHasOthersByTheirMemory) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.used = 9 * MiB;
  EXPECT_FALSE(has_other_memory_holders(driver, {Listed::absent, 0}));
  driver.used = 79 * GiB;
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::absent, 0}));
  ASSERT_EQ(poll(driver, {Listed::absent, 0}).processes.size(), 1u);
}

TEST(DeviceActivity, OfADeviceWithoutContextHasOthers) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.processes = {{self, "p2p_matrix", 79 * GiB}};
  EXPECT_FALSE(has_other_memory_holders(driver, {Listed::absent, 0}))
      << "the driver may list a context that was not made";
  driver.processes.push_back({2983, "hog", 79 * GiB});
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::absent, 0}));
  EXPECT_EQ(poll(driver, {Listed::absent, 0}).processes.size(), 1u);
}

TEST(DeviceActivity, HasOthersThatHoldTheMemoryFromAQuarterOn) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.processes = {{self, "p2p_matrix", 30 * GiB}, {2983, "idle", 300 * MiB}};
  EXPECT_FALSE(has_other_memory_holders(driver, {Listed::yes, self})) << "the device itself is short of memory";
  driver.processes.push_back({2984, "hog", 20 * GiB - 300 * MiB});
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::yes, self}));
  driver.processes.resize(1);
  driver.used = 60 * GiB;
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::yes, self})) << "a process that is not listed";
}

TEST(DeviceActivity, HasOthersThatHoldTheMemoryThoughThisProcessIsNotKnown) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.processes = {{7777, "p2p_matrix", 500 * MiB}};
  EXPECT_FALSE(has_other_memory_holders(driver, {}));
  driver.processes.push_back({2983, "idle", 300 * MiB});
  EXPECT_FALSE(has_other_memory_holders(driver, {}));
  driver.processes.push_back({2984, "hog", 70 * GiB});
  EXPECT_TRUE(has_other_memory_holders(driver, {}));
}

TEST(DeviceActivity, ExpectsOthersToHoldTheMemoryWhereTheDriverDoesNotReportHowMuch) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 1}};
  EXPECT_FALSE(has_other_memory_holders(driver, {Listed::yes, self})) << "there is no other process";
  driver.processes.push_back({2983, "idle", 1});
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::yes, self})) << "the memory of the device is not reported";
  driver.total = 80 * GiB;
  EXPECT_FALSE(has_other_memory_holders(driver, {Listed::yes, self}));
  driver.tells_bytes = false;
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::yes, self})) << "the memory of the process is not reported";
  driver.tells = false;
  EXPECT_TRUE(has_other_memory_holders(driver, {Listed::yes, self})) << "no process is reported";
}

}  // namespace
}  // namespace linkmatrix
