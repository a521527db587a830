#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "core/activity.hpp"
#include "core/units.hpp"
#include "device/device_activity.hpp"

namespace linkmatrix {
namespace {

using Listed = OwnProcess::Listed;

constexpr unsigned self = 100;  // the number that this process knows of itself

/// A device whose processes this process may be one of, as the driver sees
/// them.
class FakeDriver final : public DeviceUseSource {
 public:
  DeviceProcesses processes_on(std::size_t) override {
    ++asked;
    if (!tells) return std::nullopt;
    std::vector<DeviceProcess> found = processes;
    if (!tells_bytes)
      for (DeviceProcess& process : found) process.bytes.reset();
    return found;
  }

  std::optional<std::uint64_t> memory_used_on(std::size_t) override { return used; }
  std::optional<std::uint64_t> memory_total_on(std::size_t) override { return total; }

  DeviceProcess& of(unsigned pid) { return *std::ranges::find(processes, pid, &DeviceProcess::pid); }

  /// Allocates as this process, which the driver calls `own`; `meanwhile` is
  /// what others do at the same moment.
  AllocateStep allocating_as(unsigned own, std::function<void(std::uint64_t)> meanwhile = {}) {
    return [this, own, meanwhile](std::uint64_t bytes) {
      steps.push_back(bytes);
      *of(own).bytes += bytes;
      if (meanwhile) meanwhile(bytes);
      return std::shared_ptr<void>(nullptr, [this, own, bytes](void*) { *of(own).bytes -= bytes; });
    };
  }

  std::vector<DeviceProcess> processes;
  std::vector<std::uint64_t> steps;
  std::optional<std::uint64_t> used, total;  ///< nothing: the driver does not tell
  bool tells = true, tells_bytes = true;
  int asked = 0;
};

const AllocateStep no_memory = [](std::uint64_t) -> std::shared_ptr<void> { throw std::bad_alloc(); };

TEST(OwnProcessHandshake, FindsThisProcessByItsStepOfMemory) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 500 * MiB}, {2983, "hog", 700 * MiB}};
  const OwnProcess own = find_own_process(driver, 0, std::nullopt, self, driver.allocating_as(self));
  EXPECT_EQ(own.listed, Listed::yes);
  EXPECT_EQ(own.pid, self);
  EXPECT_EQ(driver.steps.size(), 1u);
  EXPECT_EQ(driver.of(self).bytes, 500 * MiB) << "the step is freed";
  EXPECT_LE(driver.asked, 2) << "it costs two questions";
}

TEST(OwnProcessHandshake, FindsThisProcessThoughTheDriverNumbersItInAnotherWay) {
  FakeDriver driver;
  driver.processes = {{7777, "p2p_matrix", 500 * MiB}, {self, "hog", 700 * MiB}};
  const OwnProcess own = find_own_process(driver, 0, std::nullopt, self, driver.allocating_as(7777));
  EXPECT_EQ(own.pid, 7777u) << "and not the other process that has the number of this one";
}

TEST(OwnProcessHandshake, IsRepeatedWhereAnotherProcessGrowsByTheSameStepAtTheSameMoment) {
  FakeDriver driver;
  driver.processes = {{7777, "p2p_matrix", 500 * MiB}, {7778, "p2p_matrix", 500 * MiB}};
  int times = 0;
  const auto allocate = driver.allocating_as(7777, [&](std::uint64_t bytes) {
    if (++times == 1) *driver.of(7778).bytes += bytes;  // the second time it takes another step
  });
  EXPECT_EQ(find_own_process(driver, 0, std::nullopt, self, allocate).pid, 7777u);
  EXPECT_EQ(driver.steps.size(), 2u);
}

TEST(OwnProcessHandshake, DrawsEachStepAtRandomFromMultiplesOfTwoMebibytes) {
  std::set<std::uint64_t> steps;
  for (int draw = 0; draw < 1000; ++draw) steps.insert(step_bytes());
  EXPECT_EQ(steps.size(), 31u);
  EXPECT_EQ(*steps.begin(), 4 * MiB);
  EXPECT_EQ(*steps.rbegin(), 64 * MiB);
  EXPECT_TRUE(std::ranges::all_of(steps, [](std::uint64_t step) { return step % (2 * MiB) == 0; }));
}

TEST(OwnProcessHandshake, NeverFindsAProcessFromBeforeTheContextOfThisProcess) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 500 * MiB}, {2983, "python", 700 * MiB}};
  int times = 0;
  const auto allocate = driver.allocating_as(self, [&](std::uint64_t bytes) {
    *driver.of(2983).bytes += bytes;
    if (++times == 1) *driver.of(self).bytes += 2 * MiB;  // such as a module that is loaded late
  });
  const DeviceProcesses before = std::vector<DeviceProcess>{{2983, "python", 700 * MiB}};
  EXPECT_EQ(find_own_process(driver, 0, before, self, allocate).pid, self);
  EXPECT_EQ(driver.steps.size(), 2u);
}

TEST(OwnProcessHandshake, LeavesThisProcessUnknownWhereNoProcessFollowsTheSteps) {
  FakeDriver driver;
  driver.processes = {{2983, "hog", 700 * MiB}};
  const AllocateStep unseen = [](std::uint64_t) { return std::make_shared<int>(); };
  EXPECT_EQ(find_own_process(driver, 0, std::vector<DeviceProcess>{}, self, unseen).listed, Listed::unknown)
      << "the only new process is another one";
  driver.processes = {{self, "hog", 700 * MiB}};
  EXPECT_EQ(find_own_process(driver, 0, std::nullopt, self, unseen).listed, Listed::unknown)
      << "it only has the number of this process";
}

TEST(OwnProcessHandshake, PassesOnThatTheDeviceFailed) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 500 * MiB}};
  const AllocateStep broken = [](std::uint64_t) -> std::shared_ptr<void> { throw std::runtime_error("Xid 79"); };
  EXPECT_THROW(find_own_process(driver, 0, std::nullopt, self, broken), std::runtime_error);
}

TEST(OwnProcess, IsTheOnlyOneThatIsNewWhereTheDriverDoesNotReportMemory) {
  FakeDriver driver;
  driver.tells_bytes = false;
  const std::vector<DeviceProcess> before{{self, "hog", {}}};
  driver.processes = {{self, "hog", 0}, {7777, "p2p_matrix", 0}};
  EXPECT_EQ(find_own_process(driver, 0, before, self, no_memory).pid, 7777u);
  EXPECT_TRUE(driver.steps.empty());
}

TEST(OwnProcess, IsTheOneWithItsNumberWhereTwoBeganAtTheSameMoment) {
  FakeDriver driver;
  driver.tells_bytes = false;
  driver.processes = {{self, "p2p_matrix", 0}, {101, "p2p_matrix", 0}};
  const OwnProcess own = find_own_process(driver, 0, std::vector<DeviceProcess>{}, self, no_memory);
  EXPECT_EQ(own.listed, Listed::yes);
  EXPECT_EQ(own.pid, self);
  driver.processes = {{7777, "p2p_matrix", 0}, {7778, "p2p_matrix", 0}};
  EXPECT_EQ(find_own_process(driver, 0, std::vector<DeviceProcess>{}, self, no_memory).listed, Listed::unknown)
      << "no process is recognised by its name";
}

TEST(OwnProcess, IsNotTheOneThatHadItsNumberBefore) {
  FakeDriver driver;
  driver.tells_bytes = false;
  driver.processes = {{self, "hog", 0}};
  const std::vector<DeviceProcess> before{{self, "hog", {}}};
  EXPECT_EQ(find_own_process(driver, 0, before, self, no_memory).listed, Listed::no);
  EXPECT_EQ(find_own_process(driver, 0, std::nullopt, self, no_memory).pid, self)
      << "with a context of an earlier time, nothing says that this is another "
         "process";
}

TEST(OwnProcess, IsFoundWhereNoMemoryIsLeftForAStep) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 500 * MiB}, {2983, "hog", 79 * GiB}};
  EXPECT_EQ(find_own_process(driver, 0, std::vector<DeviceProcess>{{2983, "hog", 79 * GiB}}, self, no_memory).pid,
            self);
}

TEST(OwnProcess, IsNotTheServerOfMps) {
  FakeDriver driver;
  driver.processes = {{55, "nvidia-cuda-mps-server", 500 * MiB}};
  const OwnProcess own = find_own_process(driver, 0, std::vector<DeviceProcess>{}, self, driver.allocating_as(55));
  EXPECT_EQ(own.listed, Listed::no);
}

TEST(OwnProcess, IsUnknownWhereTheDriverTellsNothing) {
  FakeDriver driver;
  driver.tells = false;
  EXPECT_EQ(find_own_process(driver, 0, std::nullopt, self, no_memory).listed, Listed::unknown);
}

/// Polls a device on which this process is known as `own`.
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
  EXPECT_EQ(at_rest(now).shared, true);
  driver.processes.resize(1);
  EXPECT_EQ(at_rest(poll(driver, {Listed::yes, self})).shared, false);
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
bool others_hold_memory(FakeDriver& driver, OwnProcess own) {
  return DeviceActivity(driver, {"gpu0"}, {own}, self).others_hold_memory(0);
}

TEST(DeviceActivity, OfADeviceWithoutContextHasOthersByTheirMemory) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.used = 9 * MiB;
  EXPECT_FALSE(others_hold_memory(driver, {Listed::absent, 0}));
  driver.used = 79 * GiB;
  EXPECT_TRUE(others_hold_memory(driver, {Listed::absent, 0}));
  ASSERT_EQ(poll(driver, {Listed::absent, 0}).processes.size(), 1u);
}

TEST(DeviceActivity, OfADeviceWithoutContextHasOthers) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.processes = {{self, "p2p_matrix", 79 * GiB}};
  EXPECT_FALSE(others_hold_memory(driver, {Listed::absent, 0})) << "the driver may list a context that was not made";
  driver.processes.push_back({2983, "hog", 79 * GiB});
  EXPECT_TRUE(others_hold_memory(driver, {Listed::absent, 0}));
  EXPECT_EQ(poll(driver, {Listed::absent, 0}).processes.size(), 1u);
}

TEST(DeviceActivity, HasOthersThatHoldTheMemoryFromAQuarterOn) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.processes = {{self, "p2p_matrix", 30 * GiB}, {2983, "idle", 300 * MiB}};
  EXPECT_FALSE(others_hold_memory(driver, {Listed::yes, self})) << "the device itself is short of memory";
  driver.processes.push_back({2984, "hog", 20 * GiB - 300 * MiB});
  EXPECT_TRUE(others_hold_memory(driver, {Listed::yes, self}));
  driver.processes.resize(1);
  driver.used = 60 * GiB;
  EXPECT_TRUE(others_hold_memory(driver, {Listed::yes, self})) << "a process that is not listed";
}

TEST(DeviceActivity, HasOthersThatHoldTheMemoryThoughThisProcessIsNotKnown) {
  FakeDriver driver;
  driver.total = 80 * GiB;
  driver.processes = {{7777, "p2p_matrix", 500 * MiB}};
  EXPECT_FALSE(others_hold_memory(driver, {}));
  driver.processes.push_back({2983, "idle", 300 * MiB});
  EXPECT_FALSE(others_hold_memory(driver, {}));
  driver.processes.push_back({2984, "hog", 70 * GiB});
  EXPECT_TRUE(others_hold_memory(driver, {}));
}

TEST(DeviceActivity, ExpectsOthersToHoldTheMemoryWhereTheDriverDoesNotReportHowMuch) {
  FakeDriver driver;
  driver.processes = {{self, "p2p_matrix", 1}};
  EXPECT_FALSE(others_hold_memory(driver, {Listed::yes, self})) << "there is no other process";
  driver.processes.push_back({2983, "idle", 1});
  EXPECT_TRUE(others_hold_memory(driver, {Listed::yes, self})) << "the memory of the device is not reported";
  driver.total = 80 * GiB;
  EXPECT_FALSE(others_hold_memory(driver, {Listed::yes, self}));
  driver.tells_bytes = false;
  EXPECT_TRUE(others_hold_memory(driver, {Listed::yes, self})) << "the memory of the process is not reported";
  driver.tells = false;
  EXPECT_TRUE(others_hold_memory(driver, {Listed::yes, self})) << "no process is reported";
}

}  // namespace
}  // namespace linkmatrix
