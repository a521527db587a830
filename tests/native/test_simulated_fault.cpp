#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/error.hpp"
#include "core/units.hpp"
#include "device/copy_sampler.hpp"
#include "measure/simulated_fault.hpp"
#include "scripted_backend.hpp"

namespace linkmatrix {
namespace {

/// Three devices with a cell per pair and transfers of one second, and a fault.
class Faulty {
 public:
  explicit Faulty(std::string_view fault)
      : copies_{backend_, cells(), Metric::bandwidth, 1, false, Deadline::never()},
        sampler_{copies_, parse_simulated_fault(fault)} {}

  std::vector<Sampled> sample(const Round& round, Deadline until = Deadline::never()) {
    return sampler_.sample(round, {.stop = {.min_samples = 1, .max_samples = 1}, .until = until});
  }
  double seconds(const CellIndex& cell) { return per_transfer(sample({cell}).front()); }
  static double per_transfer(const Sampled& sampled) {
    return sampled.samples.front().whole.seconds() / sampled.transfers;
  }
  FaultySampler& sampler() { return sampler_; }

 private:
  static std::vector<CopyCell> cells() {
    std::vector<CopyCell> all;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < 3; ++c)
        if (r != c)
          all.push_back({r, c, {{.source = static_cast<int>(r), .destination = static_cast<int>(c), .bytes = MiB}}});
    return all;
  }

  ScriptedBackend backend_{3, [](const Copy&, std::size_t) { return 1.0; }};
  CopySampler copies_;
  FaultySampler sampler_;
};

constexpr CellIndex there{0, 1}, back{1, 0}, elsewhere{0, 2}, onward{1, 2};

TEST(SimulatedFault, UnderstandsItsKindsAndRefusesTheRest) {
  EXPECT_EQ(parse_simulated_fault("slow:cpu1").text(), "slow:cpu1");
  for (const char* bad : {"", "slow", "slow:", ":cpu1", "slower:cpu1"})
    EXPECT_THROW(parse_simulated_fault(bad), BadInput) << bad;
}

TEST(SimulatedFault, TakesLossAndShareOfAnIntermittentOneAndSecondsOfPhases) {
  const SimulatedFault random = parse_simulated_fault("intermittent=90/25/7:dev0->dev1");
  EXPECT_DOUBLE_EQ(random.loss, 0.9);
  EXPECT_DOUBLE_EQ(random.share, 0.25);
  EXPECT_EQ(random.seed, 7u);
  EXPECT_EQ(random.endpoint, "dev0->dev1");
  EXPECT_EQ(random.text(), "intermittent=90/25/7:dev0->dev1");
  EXPECT_DOUBLE_EQ(parse_simulated_fault("intermittent:dev1").share, 0.1);
  EXPECT_DOUBLE_EQ(parse_simulated_fault("phases=30/0.5:dev1").phase, 0.5);
  EXPECT_DOUBLE_EQ(parse_simulated_fault("phases:dev1").loss, 0.5);
  for (const char* bad : {"slow=50:cpu1", "intermittent=:cpu1", "intermittent=50:cpu1", "intermittent=0/10:cpu1",
                          "intermittent=100/10:cpu1", "intermittent=50/10/x:cpu1", "phases=50/0:cpu1",
                          "phases=50/1/1:cpu1", "phases=50/1", "intermittent=50/10:"})
    EXPECT_THROW(parse_simulated_fault(bad), BadInput) << bad;
}

TEST(SimulatedFault, SlowsAShareOfTheSamplesTheSameOnesEachTime) {
  const auto slow_samples = [](std::string_view fault, const CellIndex& cell) {
    Faulty faulty(fault);
    std::vector<bool> slow;
    for (int i = 0; i < 400; ++i) slow.push_back(faulty.seconds(cell) > 1.5);
    return slow;
  };
  const auto first = slow_samples("intermittent=50/10:dev0->dev1", there);
  EXPECT_EQ(first, slow_samples("intermittent=50/10:dev0->dev1", there));
  EXPECT_NE(first, slow_samples("intermittent=50/10/2:dev0->dev1", there));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(first, true)), 40, 20);
  EXPECT_EQ(std::ranges::count(slow_samples("intermittent=50/10:dev0->dev1", back), true), 0);
}

TEST(SimulatedFault, OfPhasesIsSlowHalfOfTheTime) {
  const SimulatedFault fault = parse_simulated_fault("phases=50/2:dev1");
  EXPECT_FALSE(fault.is_slow_at(0));
  EXPECT_FALSE(fault.is_slow_at(1.9));
  EXPECT_TRUE(fault.is_slow_at(2.1));
  EXPECT_TRUE(fault.is_slow_at(3.9));
  EXPECT_FALSE(fault.is_slow_at(4.1));
  Faulty faulty("phases=50/0.005:dev1");
  std::set<double> seen;
  for (const Deadline end = Deadline::in(30); seen.size() < 2 && !end.passed();) seen.insert(faulty.seconds(there));
  EXPECT_EQ(seen, (std::set<double>{1, 2}));
}

TEST(SimulatedFault, RefusesAnEndpointThatIsNotThereAndOneThatSaysNothing) {
  ScriptedBackend machine(3, [](const Copy&, std::size_t) { return 1.0; });
  machine.add_host_memory();
  for (const char* bad : {"slow:dev999", "slow:dev1->", "slow:->dev1", "slow:dev1->dev9", "counter:dev1->dev2",
                          "counter:numa0", "throttle:numa0"})
    EXPECT_THROW(FaultyMachine(machine, parse_simulated_fault(bad)), BadInput) << bad;
  EXPECT_NO_THROW(FaultyMachine(machine, parse_simulated_fault("slow:numa0")));
}

TEST(SimulatedFault, CorruptsWhatArrivesAtItsEndpointOnly) {
  Faulty faulty("corrupt:dev1");
  EXPECT_EQ(faulty.sample({there}).front().status, CellStatus::corrupt);
  EXPECT_EQ(faulty.sample({back}).front().status, CellStatus::ok);
}

TEST(SimulatedFault, CorruptsEverySoManyThSample) {
  EXPECT_EQ(parse_simulated_fault("corrupt=7:cpu1").text(), "corrupt=7:cpu1");
  for (const char* bad : {"corrupt=:cpu1", "corrupt=0:cpu1", "corrupt=x:cpu1", "corrupt=7x:cpu1", "slow=7:cpu1"})
    EXPECT_THROW(parse_simulated_fault(bad), BadInput) << bad;
  Faulty faulty("corrupt=7:dev1");
  for (int sample = 1; sample <= 14; ++sample)
    EXPECT_EQ(faulty.sample({there}).front().status, sample % 7 == 0 ? CellStatus::corrupt : CellStatus::ok) << sample;
}

TEST(SimulatedFault, FailsWhereItIsMetAndTheEndpointIsLost) {
  Faulty faulty("error:dev1");
  EXPECT_EQ(faulty.sample({elsewhere}).front().status, CellStatus::ok);
  EXPECT_TRUE(faulty.sampler().is_available(back));
  const Sampled failed = faulty.sample({back}).front();
  EXPECT_EQ(failed.status, CellStatus::error);
  EXPECT_NE(failed.why.find("dev1"), std::string::npos) << failed.why;
  EXPECT_FALSE(faulty.sampler().is_available(there));
  EXPECT_TRUE(faulty.sampler().is_available(elsewhere));
  ASSERT_EQ(faulty.sampler().take_lost().size(), 1u);
  EXPECT_TRUE(faulty.sampler().take_lost().empty()) << "once";
}

TEST(SimulatedFault, OnAWayLosesNoEndpoint) {
  for (const char* fault : {"error:dev1->dev2", "hang:dev1->dev2"}) {
    Faulty faulty(fault);
    EXPECT_NE(faulty.sample({onward}, Deadline::in(0.01)).front().status, CellStatus::ok);
    EXPECT_FALSE(faulty.sampler().is_available(onward));
    EXPECT_TRUE(faulty.sampler().is_available(there));
    EXPECT_TRUE(faulty.sampler().take_lost().empty()) << "no reader takes a record that has a way among its endpoints";
  }
}

TEST(SimulatedFault, OfAFanOnlyItsOwnIsLost) {
  ScriptedBackend backend(3, [](const Copy&, std::size_t) { return 1.0; });
  CopySampler copies(backend,
                     {{0, 0, {{.source = 0, .destination = 1}, {.source = 0, .destination = 2}}},
                      {1, 0, {{.source = 1, .destination = 0}, {.source = 1, .destination = 2}}}},
                     Metric::bandwidth, 1, false, Deadline::never());
  FaultySampler faulty(copies, parse_simulated_fault("error:dev1"));
  const SampleRule once{.stop = {.min_samples = 1, .max_samples = 1}};
  const Sampled partial = faulty.sample({{0, 0}}, once).front();
  EXPECT_EQ(partial.status, CellStatus::partial);
  EXPECT_FALSE(partial.samples.empty());
  EXPECT_NE(partial.why.find("dev1"), std::string::npos) << partial.why;
  EXPECT_TRUE(faulty.is_available({0, 0}));
  EXPECT_FALSE(faulty.is_available({1, 0}));
}

TEST(SimulatedFault, SlowsTheCopiesThatBeginOrEndThere) {
  Faulty faulty("slow:dev1");
  EXPECT_DOUBLE_EQ(faulty.seconds(there), 1.25);
  EXPECT_DOUBLE_EQ(faulty.seconds(onward), 1.25);
  EXPECT_DOUBLE_EQ(faulty.seconds(elsewhere), 1);
}

TEST(SimulatedFault, TouchesOneWayBetweenTwo) {
  Faulty slow("slow:dev1->dev2");
  EXPECT_DOUBLE_EQ(slow.seconds(onward), 1.25);
  EXPECT_DOUBLE_EQ(slow.seconds({2, 1}), 1);
  EXPECT_DOUBLE_EQ(slow.seconds(back), 1);
  Faulty corrupt("corrupt:dev1->dev2");
  EXPECT_EQ(corrupt.sample({onward}).front().status, CellStatus::corrupt);
  EXPECT_EQ(corrupt.sample({{2, 1}}).front().status, CellStatus::ok);
}

TEST(SimulatedFault, SharesOnlyWithOthers) {
  Faulty faulty("shared:dev1");
  EXPECT_DOUBLE_EQ(faulty.seconds(there), 1);
  EXPECT_DOUBLE_EQ(Faulty::per_transfer(faulty.sample({there, {2, 0}}).front()), 1.25);
}

TEST(SimulatedFault, CountsErrorsAndSaysThatItIsHeldBack) {
  ScriptedBackend machine(3, [](const Copy&, std::size_t) { return 1.0; });
  FaultyMachine counting(machine, parse_simulated_fault("counter:dev1"));
  const auto before = counting.device_states(), after = counting.device_states();
  EXPECT_GT(after.at(1).counters.at("nvlink_replay"), before.at(1).counters.at("nvlink_replay"));
  EXPECT_TRUE(counting.throttle_reasons().empty());
  EXPECT_EQ(FaultyMachine(machine, parse_simulated_fault("throttle:dev2")).throttle_reasons().size(), 1u);
}

TEST(SimulatedFault, HangsUntilTheDeadlineAndNotLonger) {
  Faulty faulty("hang:dev1");
  for (int i = 0; i < 5; ++i) faulty.sample({elsewhere});
  const Deadline deadline = Deadline::in(0.05);
  EXPECT_EQ(faulty.sample({there}, deadline).front().status, CellStatus::timeout);
  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(faulty.sampler().lost_status(back), CellStatus::timeout);
}

TEST(SimulatedFault, LeavesTheOthersAlone) {
  Faulty faulty("error:dev1");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(faulty.sample({elsewhere}).front().status, CellStatus::ok);
}

}  // namespace
}  // namespace linkmatrix
