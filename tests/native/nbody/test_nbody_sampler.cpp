#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "nbody/nbody_sampler.hpp"

namespace linkmatrix {
namespace {

/// Steps with scripted durations and findings.
class Scripted final : public NbodySystem {
 public:
  Machine& machine() override { throw DeviceError("nobody asks"); }
  std::vector<std::string> devices() const override { return {"gpu0", "gpu1", "gpu2"}; }
  Memory memory() const override { return Memory::device; }
  std::string transport() const override { return "direct"; }
  std::string timing() const override { return "events"; }
  NbodyAnswer prepare(const NbodyCase& wanted, double) override {
    prepared.push_back(wanted);
    return {};
  }
  NbodyAnswer run(int steps, double) override {
    steps_run.push_back(steps);
    return {status, status == CellStatus::ok ? "" : "it failed", seconds_of_step * steps};
  }
  NbodyAnswer verify_once(Proof wanted_proof, double, double, Findings& found) override {
    ++proofs[wanted_proof];
    found = findings;
    found.devices = static_cast<std::uint64_t>(prepared.back().devices);
    found.least_digest = found.most_digest = 1;
    found.energy_before = found.energy_after = -1;
    return {};
  }
  std::optional<CellStatus> lost_status(int) const override { return std::nullopt; }
  std::vector<Lost> take_lost() override { return {}; }

  double seconds_of_step = 0.001;
  CellStatus status = CellStatus::ok;
  Findings findings{.compared = 4};
  std::vector<NbodyCase> prepared;
  std::vector<int> steps_run;
  std::map<Proof, int> proofs;
};

class NbodySamplerTest : public testing::Test {
 protected:
  Sampled sampled(int devices, int steps = 0) {
    NbodySampler sampler(system, {{{0, 0}, {Precision::f32, 4096, devices}}}, steps);
    SampleRule rule;
    rule.until = Deadline::in(60);
    rule.stop.min_samples = rule.stop.max_samples = 7;
    return sampler.sample({{0, 0}}, rule).front();
  }
  Scripted system;
};

TEST_F(NbodySamplerTest, ItsValueIsTheRateOfComputation) {
  const Sampled answer = sampled(2);
  EXPECT_EQ(answer.status, CellStatus::ok);
  EXPECT_TRUE(answer.verified);
  ASSERT_EQ(answer.samples.size(), 7U);
  EXPECT_DOUBLE_EQ(value_of(Metric::compute, answer, answer.samples.front()), 4096.0 * 4096 * 20 / 0.001 * 1e-9);
}

TEST_F(NbodySamplerTest, ASampleLastsLongEnough) {
  sampled(1);
  EXPECT_EQ(system.steps_run.front(), 1) << "the first step tells how many are needed";
  EXPECT_EQ(system.steps_run.back(), 20);
  sampled(1, 3);
  EXPECT_EQ(system.steps_run.back(), 3) << "--steps";
}

TEST_F(NbodySamplerTest, AStepThatTakesLongCountsAtOnce) {
  system.seconds_of_step = 10;
  EXPECT_EQ(sampled(1).samples.size(), 7U);
  EXPECT_EQ(system.steps_run.size(), 7U) << "none was made for nothing";
}

TEST_F(NbodySamplerTest, WrongForcesAreCorrupt) {
  system.findings.wrong = 1;
  const Sampled answer = sampled(2);
  EXPECT_EQ(answer.status, CellStatus::corrupt);
  EXPECT_TRUE(answer.verified);
  EXPECT_FALSE(answer.samples.empty()) << "the value stands in the record, as a corrupt one";
  EXPECT_NE(answer.why.find("1 of 4 accelerations are wrong"), std::string::npos) << answer.why;
}

TEST_F(NbodySamplerTest, EveryNumberOfDevicesIsProvenWithAFewBodies) {
  sampled(2), sampled(2), sampled(3);
  EXPECT_EQ(system.proofs[Proof::drift], 2) << "once for each number of devices";
  EXPECT_EQ(system.proofs[Proof::steps], 5) << "each time of what was measured, and of the few";
}

TEST_F(NbodySamplerTest, AStepThatFailsLeavesNoValue) {
  system.status = CellStatus::error;
  const Sampled answer = sampled(2);
  EXPECT_EQ(answer.status, CellStatus::error);
  EXPECT_TRUE(answer.samples.empty());
  EXPECT_EQ(answer.why, "it failed");
}

TEST_F(NbodySamplerTest, AFaultIsInTheDevicesThatTakePart) {
  NbodySampler sampler(system, {{{0, 0}, {Precision::f32, 4096, 2}}, {{0, 1}, {Precision::f32, 4096, 1}}}, 0);
  const auto two = sampler.paths({0, 0});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[1].source + two[1].destination, "gpu1gpu0");
  ASSERT_EQ(sampler.paths({0, 1}).size(), 1U);
}

}  // namespace
}  // namespace linkmatrix
