#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/error.hpp"
#include "device/host/host_backend.hpp"
#include "device/simulated_fault.hpp"
#include "scripted_backend.hpp"

namespace linkmatrix {
namespace {

/// Three devices, every transfer a second.
std::unique_ptr<Backend> with_fault(std::string_view fault) {
  auto healthy = std::make_unique<ScriptedBackend>(3, [](const Copy&, std::size_t) { return 1.0; });
  return with_simulated_fault(std::move(healthy), parse_simulated_fault(fault));
}

TEST(SimulatedFault, UnderstandsItsKindsAndRefusesTheRest) {
  EXPECT_EQ(parse_simulated_fault("slow:cpu1").text(), "slow:cpu1");
  for (const char* bad : {"", "slow", "slow:", ":cpu1", "slower:cpu1"})
    EXPECT_THROW(parse_simulated_fault(bad), BadInput) << bad;
  EXPECT_THROW(with_simulated_fault(make_host_backend({}), parse_simulated_fault("slow:cpu999")), BadInput);
}

TEST(SimulatedFault, TouchesOnlyItsEndpoint) {
  const auto backend = with_simulated_fault(make_host_backend({}), parse_simulated_fault("corrupt:cpu1"));
  const std::vector<Copy> there{{.source = 0, .destination = 1, .bytes = MiB}};
  const std::vector<Copy> back{{.source = 1, .destination = 0, .bytes = MiB}};
  for (const auto& copies : {there, back}) backend->prepare(copies, Deadline::in(30));
  EXPECT_EQ(backend->verify(there, 1, Deadline::in(30)).front().wrong_bytes, 1u);
  EXPECT_EQ(backend->verify(back, 1, Deadline::in(30)).front().wrong_bytes, 0u);
}

TEST(SimulatedFault, HappensInTheMiddle) {
  const auto backend = with_simulated_fault(make_host_backend({}), parse_simulated_fault("error:cpu1"));
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = MiB}};
  backend->prepare(copies, Deadline::in(30));
  backend->run(copies, 1, Deadline::in(30));
  backend->run(copies, 1, Deadline::in(30));
  EXPECT_THROW(backend->run(copies, 1, Deadline::in(30)), DeviceError);
}

TEST(SimulatedFault, SlowsTheCopiesThatBeginOrEndThere) {
  const auto backend = with_fault("slow:dev1");
  const std::vector<Copy> copies{
      {.source = 0, .destination = 1}, {.source = 1, .destination = 2}, {.source = 2, .destination = 0}};
  const auto times = backend->run(copies, 1, Deadline::in(30));
  EXPECT_DOUBLE_EQ(times[0].seconds, 1.25);
  EXPECT_DOUBLE_EQ(times[1].seconds, 1.25);
  EXPECT_DOUBLE_EQ(times[2].seconds, 1);
}

TEST(SimulatedFault, TouchesOneWayBetweenTwo) {
  const auto backend = with_fault("slow:dev1->dev2");
  const std::vector<Copy> copies{
      {.source = 1, .destination = 2}, {.source = 2, .destination = 1}, {.source = 1, .destination = 0}};
  const auto times = backend->run(copies, 1, Deadline::in(30));
  EXPECT_DOUBLE_EQ(times[0].seconds, 1.25);
  EXPECT_DOUBLE_EQ(times[1].seconds, 1);
  EXPECT_DOUBLE_EQ(times[2].seconds, 1);
  const auto corrupt = with_fault("corrupt:dev1->dev2")->verify(copies, 1, Deadline::in(30));
  EXPECT_EQ(corrupt[0].wrong_bytes, 1u);
  EXPECT_EQ(corrupt[1].wrong_bytes + corrupt[2].wrong_bytes, 0u);
  for (const char* bad : {"slow:dev1->", "slow:->dev1", "slow:dev1->dev9", "counter:dev1->dev2"})
    EXPECT_THROW(with_fault(bad), BadInput) << bad;
}

TEST(SimulatedFault, CountsErrorsAndSaysThatItIsHeldBack) {
  const auto counting = with_fault("counter:dev1");
  const auto before = counting->device_states(), after = counting->device_states();
  EXPECT_GT(after.at(1).counters.at("nvlink_replay"), before.at(1).counters.at("nvlink_replay"));
  EXPECT_TRUE(counting->throttle_reasons().empty());
  EXPECT_EQ(with_fault("throttle:dev2")->throttle_reasons().size(), 1u);
}

TEST(SimulatedFault, HangsUntilTheDeadlineAndNotLonger) {
  const auto backend = with_fault("hang:dev1");
  const std::vector<Copy> there{{.source = 0, .destination = 1}}, elsewhere{{.source = 0, .destination = 2}};
  for (int i = 0; i < 2; ++i) backend->run(there, 1, Deadline::in(30));
  for (int i = 0; i < 5; ++i) backend->run(elsewhere, 1, Deadline::in(30));
  const Deadline deadline = Deadline::in(0.05);
  EXPECT_THROW(backend->run(there, 1, deadline), TimedOut);
  EXPECT_TRUE(deadline.passed());
}

TEST(SimulatedFault, NamesTheEndpointThatFailedAndLeavesTheOthersAlone) {
  const auto backend = with_fault("error:dev1");
  const std::vector<Copy> there{{.source = 1, .destination = 0}}, elsewhere{{.source = 0, .destination = 2}};
  for (int i = 0; i < 5; ++i) EXPECT_NO_THROW(backend->run(elsewhere, 1, Deadline::in(30)));
  for (int i = 0; i < 2; ++i) backend->run(there, 1, Deadline::in(30));
  try {
    backend->run(there, 1, Deadline::in(30));
    FAIL() << "the third run must fail";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("dev1"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace linkmatrix
