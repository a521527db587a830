#include <gtest/gtest.h>

#include <vector>

#include "program/program_run.hpp"

namespace linkmatrix {
namespace {

DeviceState state(double replays) { return {{{"nvlink_replay", replays}}, {{"temperature", 40 + replays}}}; }

TEST(Health, LeavesOutWhatAMachineSaysOfMoreThanTheDevices) {
  Endpoint gpu;
  gpu.label = "gpu0";
  const std::vector devices{gpu};
  const std::vector before{state(0), state(7)}, after{state(5), state(7), state(9)};
  std::vector<Health> health = open_health(devices, before);
  ASSERT_EQ(health.size(), 1u);
  close_health(health, after);
  ASSERT_EQ(health.size(), 1u);
  EXPECT_EQ(health[0].label, "gpu0");
  EXPECT_EQ(health[0].counters[0].before, 0);
  EXPECT_EQ(health[0].counters[0].after, 5);
  EXPECT_EQ(health[0].readings[0].after, 45);
}

TEST(Health, AddsWhatWasNotKnownBefore) {
  Endpoint gpu;
  gpu.label = "gpu0";
  std::vector<Health> health = open_health(std::vector{gpu}, std::vector{DeviceState{}});
  close_health(health, std::vector{state(5)});
  ASSERT_EQ(health[0].counters.size(), 1u);
  EXPECT_FALSE(health[0].counters[0].before);
  EXPECT_EQ(health[0].counters[0].after, 5);
}

}  // namespace
}  // namespace linkmatrix
