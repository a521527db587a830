#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "core/units.hpp"
#include "fake_driver.hpp"

namespace linkmatrix {
namespace {

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

}  // namespace
}  // namespace linkmatrix
