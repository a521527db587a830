#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "nbody/check.hpp"
#include "nbody/either_precision.hpp"
#include "nbody/host/host_simulation.hpp"
#include "nbody/nbody_system.hpp"

namespace linkmatrix {
namespace {

/// A simulation with one change in the data that it returns.
class Spoiled final : public Simulation {
 public:
  using Spoil = std::function<void(int part, std::vector<Vector4<double>>&)>;

  Spoiled(std::unique_ptr<Simulation> real, Spoil positions, Spoil velocities)
      : real_{std::move(real)}, positions_{std::move(positions)}, velocities_{std::move(velocities)} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override { real_->prepare(wanted, deadline); }
  void restart(Deadline deadline) override { real_->restart(deadline), steps_ = 0; }
  double run(int steps, const Step& step, Deadline deadline) override {
    steps_ += steps;
    return real_->run(steps, step, deadline);
  }
  std::vector<int> parts() const override { return real_->parts(); }
  std::vector<Vector4<double>> positions(int part) override {
    return poisoned(real_->positions(part), part, positions_);
  }
  std::vector<Vector4<double>> velocities(int part) override {
    return poisoned(real_->velocities(part), part, velocities_);
  }

 private:
  std::vector<Vector4<double>> poisoned(std::vector<Vector4<double>> bodies, int part, const Spoil& poison) const {
    if (poison && steps_ > 0) poison(part, bodies);
    return bodies;
  }

  std::unique_ptr<Simulation> real_;
  Spoil positions_, velocities_;
  int steps_ = 0;
};

class Check : public testing::TestWithParam<Precision> {
 protected:
  static constexpr int devices = 3;

  NbodyCase wanted() const { return {GetParam(), 1500, devices}; }
  /// Simulates three devices, all on the first core of this machine.
  std::unique_ptr<Simulation> real() const {
    std::vector<HostEndpointState> endpoint_states(devices);
    for (HostEndpointState& endpoint_state : endpoint_states)
      endpoint_state.team = std::make_unique<Team>(std::vector{numa_nodes().front().cores.front()});
    return make_host_simulation(std::move(endpoint_states));
  }
  Findings steps(Simulation& simulation) const {
    simulation.prepare(wanted(), Deadline::in(60));
    return check_steps(simulation, wanted(), 1e9, Deadline::in(60));
  }
  std::optional<std::string> why(const Spoiled::Spoil& positions, const Spoiled::Spoil& velocities) {
    Spoiled simulation(real(), positions, velocities);
    return why_wrong(steps(simulation), wanted(), false);
  }
};

TEST_P(Check, FindsNothingInASoundSimulation) {
  const auto simulation = real();
  const Findings found = steps(*simulation);
  EXPECT_EQ(why_wrong(found, wanted(), false), std::nullopt);
  EXPECT_EQ(found.compared, 2 * wanted().bodies) << "every body, after each of two steps";
  EXPECT_EQ(found.devices, static_cast<std::uint64_t>(devices));
  EXPECT_LT(found.worst, 0.5) << "what is tolerated leaves room for another order of additions";
  const Findings drift = check_drift(*simulation, wanted(), drift_steps, Deadline::in(60));
  EXPECT_EQ(why_wrong(drift, wanted(), true), std::nullopt);
  EXPECT_LT(std::abs(drift.energy_after / drift.energy_before - 1), tolerated_drift(GetParam()) / 2);
}

TEST_P(Check, FindsAWrongAcceleration) {
  const auto told = why(nullptr, [](int part, auto& velocities) {
    if (part == 1) velocities.front().x *= GetParam() == Precision::f32 ? 1.01 : 1.0000001;
  });
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("accelerations are wrong"), std::string::npos) << *told;
}

TEST_P(Check, FindsANumberThatIsNone) {
  const auto told = why(nullptr, [](int, auto& velocities) { velocities.back().y = NAN; });
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("wrong"), std::string::npos) << *told;
}

TEST_P(Check, FindsPositionsThatDidNotArrive) {
  // the last bit of one body in the memory of one device, which no force would show
  const auto told = why(
      [](int part, auto& places) {
        if (part == 2) places[5].z = std::nextafter(places[5].z, 2.0);
      },
      nullptr);
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("different positions"), std::string::npos) << *told;
}

TEST_P(Check, FindsAMomentumThatCameFromNowhere) {
  Findings found;
  found.compared = found.devices = devices;
  found.least_digest = found.most_digest = 1;
  found.momentum_scale = 1;
  EXPECT_EQ(why_wrong(found, wanted(), false), std::nullopt);
  found.momentum = {0.01, 0, 0};
  const auto told = why_wrong(found, wanted(), false);
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("momentum"), std::string::npos) << *told;
}

TEST_P(Check, FindsThatNothingWasCompared) {
  Findings found;
  EXPECT_TRUE(why_wrong(found, wanted(), false));
  found.compared = 10, found.devices = devices - 1;
  EXPECT_TRUE(why_wrong(found, wanted(), false)) << "a device is missing";
}

TEST_P(Check, FindsAnEnergyThatDrifts) {
  Findings found;
  found.energy_before = -1, found.energy_after = -1 - 3 * tolerated_drift(GetParam());
  const auto told = why_wrong(found, wanted(), true);
  ASSERT_TRUE(told);
  EXPECT_NE(told->find("energy"), std::string::npos) << *told;
  found.energy_after = NAN;
  EXPECT_TRUE(why_wrong(found, wanted(), true)) << "what is no number is no energy";
}

INSTANTIATE_TEST_SUITE_P(Precisions, Check, testing::Values(Precision::f32, Precision::f64),
                         [](const auto& one) { return std::string(word(one.param)); });

TEST(ExpectedAcceleration, IsThatOfTwoBodies) {
  const std::vector<Vector4<double>> two{{0, 0, 0, 1}, {2, 0, 0, 3}};
  const Vector4<double> found = expected_acceleration(two, two.front());
  const double squared = 4 + softening_squared;
  EXPECT_DOUBLE_EQ(found.x, 3 * 2 / (squared * std::sqrt(squared)));
  EXPECT_EQ(found.y, 0);
}

TEST(TolerateError, IsLessThanATileOfAll) {
  // a missing tile is 256 of all terms
  for (const std::uint64_t bodies : {4096, 65536, 1 << 20})
    EXPECT_LT(tolerated_error(Precision::f32, bodies), 0.3 * bodies_of_tile / static_cast<double>(bodies)) << bodies;
}

TEST(FirstPosition, IsTheSameInBothPrecisionsAndInTheCube) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto f = first_position<float>(i, 1000);
    const auto d = first_position<double>(i, 1000);
    EXPECT_EQ(static_cast<double>(f.x), d.x);
    EXPECT_LE(std::abs(d.y), 1);
    EXPECT_GT(d.w, 0);
  }
}

}  // namespace
}  // namespace linkmatrix
