#include <gtest/gtest.h>

#include <algorithm>

#include "core/activity.hpp"
#include "device/device_activity.hpp"
#include "scripted_backend.hpp"
#include "use_of.hpp"

namespace linkmatrix {
namespace {

/// A driver's answers.
class ReplayedUse final : public DeviceUseSource {
 public:
  DeviceUse use_of(std::size_t) override { return answers.at(std::min(asked++, answers.size() - 1)); }
  std::vector<DeviceUse> answers;
  std::size_t asked = 0;
};

DeviceUse answered(double bytes, std::vector<DeviceUse::Process> processes = {{100, "p2p_matrix", 1}}) {
  return {{{"nvlink_out", bytes}, {"nvlink_in", 0}, {"pcie_out", 0}, {"pcie_in", 0}},
          std::move(processes),
          std::vector<DeviceUse::Share>{{2983, 0.75, 0.25}, {100, 0.2, 0.1}}};
}

/// One device of a pair that NVLink joins, and what the run itself copied from it.
class DeviceActivityTest : public testing::Test {
 protected:
  void send(std::uint64_t bytes) {
    const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = bytes}};
    ledger.add_each_once(backend, copies);
  }
  Activity look() {
    Activity now;
    devices.add(now, ledger);
    return now;
  }
  ScriptedBackend backend{2, [](const Copy&, std::size_t) { return 1.0; }};
  ReplayedUse driver;
  TrafficLedger ledger;
  DeviceActivity devices{driver, {"dev0"}, {100, 101}, "p2p_matrix", {0.2, 0.001}};
};

const std::vector<DeviceUse::Process> with_hog{{100, "p2p_matrix", 1}, {2983, "hog", 77}};

TEST_F(DeviceActivityTest, SaysWhatTheRunDidNotSend) {
  driver.answers = {answered(1000, with_hog), answered(6000, with_hog), answered(6500, with_hog)};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").counted, 5500);
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").own, 2000);
  EXPECT_NEAR(*use_of(found, "dev0", "sm").counted, 0.75 * found.seconds, 1e-9) << "the run's own is left out";
  ASSERT_EQ(found.processes.size(), 1u);
  EXPECT_EQ(found.processes[0].pid, 2983u);
  EXPECT_EQ(found.processes[0].bytes, 77u);
}

TEST_F(DeviceActivityTest, HasWhoIsOnItThoughTheDriverDoesNotTellHowMuchOfItsMemory) {
  driver.answers = {answered(1000, {{100, "p2p_matrix", 1}, {2983, "hog", {}}})};
  const Activity before = look(), after = look();
  ASSERT_EQ(after.processes.size(), 1u);
  EXPECT_TRUE(after.processes[0].is_on_device());
  EXPECT_EQ(disturbance(between(before, after)), "pid 2983 (hog) on dev0");
}

TEST_F(DeviceActivityTest, KeepsAShareThatTheDriverTellsWhileACounterIsWaitedFor) {
  DeviceUse early = answered(1000, with_hog), late = answered(3000, with_hog);
  early.shares->clear();
  driver.answers = {early, early, late};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_NEAR(*use_of(found, "dev0", "sm").counted, 0.75 * found.seconds, 1e-9);
}

TEST_F(DeviceActivityTest, WaitsForACounterThatIsRefreshedLate) {
  driver.answers = {answered(1000, with_hog), answered(1000, with_hog), answered(1000, with_hog),
                    answered(3000, with_hog)};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").counted, 2000);
  EXPECT_EQ(driver.asked, 4u);
}

TEST_F(DeviceActivityTest, DoesNotWaitWhereNobodyElseHasTheDevice) {
  driver.answers = {answered(1000), answered(1000)};
  look();
  send(2000);
  const Activity after = look();
  EXPECT_EQ(driver.asked, 2u);
  EXPECT_FALSE(*after.shared);
  EXPECT_FALSE(use_of(after, "dev0", "nvlink_out").counted) << "it lacks what was sent, and is no answer";
}

TEST_F(DeviceActivityTest, OfSeveralRanksOfTheRunNoneIsAnother) {
  driver.answers = {answered(1000, {{100, "p2p_matrix", 1}, {101, "p2p_matrix", 1}})};
  look();
  EXPECT_FALSE(*look().shared);
  driver.answers = {answered(1000, {{101, "p2p_matrix", 1}, {300, "p2p_matrix", 1}})};
  const Activity found = look();
  ASSERT_EQ(found.processes.size(), 1u) << "of the same name, and of another run";
  EXPECT_EQ(found.processes[0].pid, 300u);
}

TEST_F(DeviceActivityTest, WhatNobodyCountedIsNotKnownAsTheRunsOwn) {
  driver.answers = {answered(1000, with_hog), answered(6000, with_hog)};
  const Activity before = look();
  ledger.lose();
  const Activity found = between(before, look());
  EXPECT_FALSE(use_of(found, "dev0", "nvlink_out").own);
  EXPECT_DOUBLE_EQ(*use_of(found, "dev0", "nvlink_out").counted, 5000);
}

TEST_F(DeviceActivityTest, IsNoAnswerWhereTheCounterLacksWhatWasSent) {
  driver.answers = {answered(1000, with_hog), answered(2000, with_hog)};
  const Activity before = look();
  send(2000);
  const Activity found = between(before, look());
  EXPECT_FALSE(use_of(found, "dev0", "nvlink_out").counted);
  EXPECT_EQ(std::ranges::count(found.untold, "dev0: its counter nvlink_out had not counted all that was sent here"), 1);
}

TEST_F(DeviceActivityTest, SaysWhatTheDriverDoesNot) {
  driver.answers = {DeviceUse{}};
  const Activity before = look();
  const Activity found = between(before, look());
  EXPECT_FALSE(use_of(found, "dev0", "nvlink_out").counted);
  EXPECT_FALSE(use_of(found, "dev0", "sm").counted);
  EXPECT_TRUE(*found.shared) << "nobody knows";
  for (const char* what : {"dev0: the driver does not count nvlink_out", "dev0: the driver does not count pcie_in",
                           "dev0: the driver does not say which processes use it",
                           "dev0: the driver does not say how much of it each process uses"})
    EXPECT_EQ(std::ranges::count(found.untold, what), 1) << what;
}

TEST_F(DeviceActivityTest, KnowsItselfByNameWhereTheDriverNumbersProcessesOtherwise) {
  driver.answers = {answered(0, {{7777, "p2p_matrix", 1}, {2983, "hog", 1}})};
  ASSERT_EQ(look().processes.size(), 1u);
  driver.answers = {answered(0, {})};
  const Activity unlisted = look();
  EXPECT_EQ(
      std::ranges::count(unlisted.untold, "dev0: the driver does not list this process, so others may be missing too"),
      1);
}

TEST_F(DeviceActivityTest, WaitsNoMoreForLateCountersWhereNobodyIsListedAndTheRunHasWaitedEnough) {
  DeviceActivity quick{driver, {"dev0"}, {100}, "p2p_matrix", {.most = 0.02, .between = 0.001, .unlisted = 0.01}};
  const auto asked_by_a_look = [&](const std::vector<DeviceUse::Process>& processes) {
    driver.answers = {answered(0, processes)};
    send(2000);
    const std::size_t before = driver.asked;
    Activity now;
    quick.add(now, ledger);
    return driver.asked - before;
  };
  asked_by_a_look({});
  EXPECT_GT(asked_by_a_look({}), 1u);
  EXPECT_EQ(asked_by_a_look({}), 1u);
  EXPECT_GT(asked_by_a_look(with_hog), 1u) << "whom the driver lists, it waits for";
}

TEST_F(DeviceActivityTest, DoesNotKnowWhatFailedCopiesMoved) {
  driver.answers = {answered(0, with_hog), answered(9000, with_hog), answered(9500, with_hog),
                    answered(9900, with_hog)};
  const Activity before = look();
  const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = 2000}};
  EXPECT_THROW(ledger.account(backend, copies, []() -> Timeline { throw DeviceError("it hung"); }), DeviceError);
  const Activity after = look();
  EXPECT_FALSE(use_of(between(before, after), "dev0", "nvlink_out").own);
}

TEST(TrafficLedger, CountsEachCopyOnItsPath) {
  ScriptedBackend backend(2, [](const Copy&, std::size_t) { return 1.0; });
  backend.add_host_memory();
  TrafficLedger ledger;
  const std::vector<Copy> copies{Copy{.source = 0, .destination = 1, .bytes = 10, .repeats = 3},
                                 Copy{.source = 0, .destination = 1, .bytes = 10, .peer_access = false},
                                 Copy{.source = 2, .destination = 1, .bytes = 7},
                                 Copy{.source = 1, .destination = 1, .bytes = 5},
                                 Copy{.source = 0, .destination = 1, .bytes = 4096, .operation = Operation::chase}};
  const Timeline timeline = ledger.account(backend, copies, [&] { return backend.run(copies, Deadline::never()); });
  EXPECT_EQ(timeline.copies.size(), copies.size());
  EXPECT_DOUBLE_EQ(ledger.bytes("dev0", "nvlink_out"), 30);
  EXPECT_DOUBLE_EQ(ledger.bytes("dev1", "nvlink_in"), 30);
  EXPECT_DOUBLE_EQ(ledger.bytes("dev0", "pcie_out"), 10) << "staged through host memory";
  EXPECT_DOUBLE_EQ(ledger.bytes("dev1", "pcie_in"), 17);
  EXPECT_DOUBLE_EQ(ledger.bytes("numa0", "pcie_out"), 0);
  ledger.account(backend, copies, [&] { return backend.verify(copies, 1, Deadline::never()); });
  EXPECT_DOUBLE_EQ(ledger.bytes("dev0", "nvlink_out"), 40) << "each once";
  EXPECT_TRUE(ledger.take_known());
}

}  // namespace
}  // namespace linkmatrix
