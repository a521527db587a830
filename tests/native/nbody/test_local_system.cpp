#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "device/host/host_backend.hpp"
#include "nbody/local_system.hpp"

namespace linkmatrix {
namespace {

/// Steps that call a function, which may fail.
class Failing final : public Simulation {
 public:
  explicit Failing(std::function<void()> fail) : fail_{std::move(fail)} {}

  void prepare(const NbodyCase&, Deadline) override {}
  void restart(Deadline) override {}
  double run(int, const Step&, Deadline) override { return fail_(), 1; }
  std::vector<int> parts() const override { return {}; }
  std::vector<Vector4<double>> positions(int) override { return {}; }
  std::vector<Vector4<double>> velocities(int) override { return {}; }

 private:
  std::function<void()> fail_;
};

/// Two devices, cpu0 and cpu1, in the place of GPUs.
std::unique_ptr<NbodySystem> system_of(std::function<void()> fail) {
  const std::vector<NumaNode> two{{0, {0}}, {1, {0}}};
  return make_local_system({.machine = make_host_backend({}, true, two),
                            .simulation = std::make_unique<Failing>(std::move(fail)),
                            .memory = Memory::device,
                            .timing = "events",
                            .transport = [] { return "direct"; }});
}

NbodyAnswer run_on_both(NbodySystem& system) {
  system.prepare({Precision::f32, 4096, 2}, 10);
  return system.run(1, 10);
}

TEST(LocalSystem, ADeviceThatFailsIsLostAndTheOnesBeforeItGoOn) {
  const auto system = system_of([] { throw DeviceError("cpu1: forces_kernel failed: an illegal memory access"); });
  EXPECT_EQ(run_on_both(*system).status, CellStatus::error);
  const auto lost = system->take_lost();
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost.front().label, "cpu1");
  EXPECT_EQ(system->lost_status(2), CellStatus::error);
  EXPECT_EQ(system->lost_status(1), std::nullopt);
  EXPECT_TRUE(system->take_lost().empty()) << "it is told once";
}

TEST(LocalSystem, AfterADeviceThatHangsNothingBegins) {
  const auto system = system_of([] { throw TimedOut("cpu1: the step did not finish in time"); });
  EXPECT_EQ(run_on_both(*system).status, CellStatus::timeout);
  EXPECT_EQ(system->lost_status(1), CellStatus::timeout);
  EXPECT_EQ(system->take_lost().size(), 1U);
}

TEST(LocalSystem, AFailureThatNamesNoDeviceIsOfAllThatTookPart) {
  const auto system = system_of([] { throw DeviceError("the driver is gone"); });
  EXPECT_EQ(run_on_both(*system).status, CellStatus::error);
  EXPECT_EQ(system->take_lost().size(), 2U);
  EXPECT_EQ(system->lost_status(1), CellStatus::error);
}

TEST(LocalSystem, WhatCannotBeHadIsLeftToWhoeverAsked) {
  const auto system = system_of([] { throw BadInput("--bodies: too many"); });
  system->prepare({Precision::f32, 4096, 2}, 10);
  EXPECT_THROW(system->run(1, 10), BadInput);
  EXPECT_EQ(system->lost_status(2), std::nullopt);
}

}  // namespace
}  // namespace linkmatrix
