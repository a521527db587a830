#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "measured_matrix.hpp"

namespace linkmatrix {
namespace {

/// Number of samples of the calibration and of the rounds.
struct Cost {
  int deciding = 0, rounds = 0;
};

Cost cost_of(const ScriptedSampler& sampler) {
  Cost cost;
  for (std::size_t k = 0; k < sampler.rounds.size(); ++k)
    (sampler.counted[k] ? cost.rounds : cost.deciding) += sampler.samples[k];
  return cost;
}

/// Adds noise to every sample. sigma: standard deviation.
void make_noisy(ScriptedSampler& sampler, double sigma, unsigned seed) {
  sampler.script = [random = std::mt19937(seed), noise = std::normal_distribution<double>(1, sigma)](
                       const CellIndex&, const SampleRule&, Sampled& answer) mutable {
    for (Sample& sample : answer.samples) sample.whole.end *= noise(random);
  };
}

/// Devices 0 and 7 of eight share an uplink to the others. If both send in a round, each loses `loss`. In the
/// calibrated round they are a pair, and share nothing.
class SharedUplink {
 public:
  explicit SharedUplink(double loss)
      : sampler{[this, loss](const CellIndex& cell, std::size_t) {
          const Round& round = sampler.rounds.back();
          const auto is_available = [](std::size_t device) { return device == 0 || device == 7; };
          const auto uses = [&](const CellIndex& p) { return is_available(p.row) && !is_available(p.column); };
          return uses(cell) && std::count_if(round.begin(), round.end(), uses) > 1 ? 10 * (1 - loss) : 10.0;
        }} {}

  ScriptedSampler sampler;
};

double worst_value(const MatrixResult& result) {
  double worst = 10;
  for (const auto& value : result.values) worst = std::min(worst, value.value_or(10));
  return worst;
}

TEST(ControlMeasurements, CostATwentiethOfTheSamplesAtMost) {
  for (const std::size_t n : {4, 8, 16, 32, 64}) {
    ScriptedSampler sampler(ten);
    const MatrixResult result = measured(sampler, n).results.front();
    const Cost cost = cost_of(sampler);
    const int calibration = 1 + static_cast<int>(std::min<std::size_t>(4, n / 2));
    EXPECT_LE(cost.deciding - calibration, std::max(1.0, 0.05 * cost.rounds)) << n;
    EXPECT_GE(result.schedule.controlled_rounds, 2u) << "the calibration's round, and others";
    EXPECT_EQ(result.schedule.rounds, 2 * (n - 1));
    EXPECT_EQ(result.schedule.pairs_at_once, n / 2);
    EXPECT_EQ(*result.schedule.interference, 0.0);
    EXPECT_FALSE(has_note(result, "disturb"));
    RecordProperty("deciding_" + std::to_string(n), cost.deciding);
    RecordProperty("rounds_" + std::to_string(n), cost.rounds);
  }
}

/// Returns in how many of a hundred runs no value is more than 0.3 % and three sigma below 10.
int found_of_hundred(double loss, double sigma, int& split) {
  int found = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SharedUplink shared(loss);
    make_noisy(shared.sampler, sigma, seed);
    const MatrixResult result = measured(shared.sampler, 8).results.front();
    found += worst_value(result) > 10 * (1 - 0.003 - 3 * sigma / std::sqrt(7)) ? 1 : 0;
    split += has_note(result, "smaller parts") ? 1 : 0;
  }
  return found;
}

TEST(ControlMeasurements, FindTwoDevicesThatShareAnUplink) {
  for (const double sigma : {0.0, 0.001, 0.002, 0.003}) {
    int of_healthy = 0, of_shared = 0;
    EXPECT_GE(found_of_hundred(0, sigma, of_healthy), 99) << sigma;
    EXPECT_LE(of_healthy, 2) << "false alarms at noise of " << sigma;
    const int found = found_of_hundred(0.02, sigma, of_shared);
    EXPECT_GE(found, 98) << sigma;
    RecordProperty("found_at_" + std::to_string(sigma), found);
    RecordProperty("false_alarms_at_" + std::to_string(sigma), of_healthy);
  }
}

TEST(ControlMeasurements, FindTheOneRoundThatIsDisturbed) {
  const Round disturbed = matchings(8).at(9);
  ScriptedSampler sampler([&](const CellIndex& cell, std::size_t at_once) {
    const bool here = std::find(disturbed.begin(), disturbed.end(), cell) != disturbed.end();
    return here && at_once > 1 ? 9.8 : 10.0;
  });
  const MatrixResult result = measured(sampler, 8).results.front();
  EXPECT_NEAR(worst_value(result), 10, 1e-9);
  EXPECT_TRUE(has_note(result, "rounds split into smaller groups, because concurrent cells disturbed each other: "));
  EXPECT_NEAR(*result.schedule.interference, 0, 1e-9) << "what was not let pass does not count";
}

TEST(ControlMeasurements, OfAllRoundsAreAskedOnceOneIsDisturbedAndEachThatIsMeasuredInSmallerParts) {
  // Only the calibrated round is healthy: in all other rounds two concurrent cells lose 15 %.
  const Round calibrated = matchings(8).front();
  ScriptedSampler sampler([&](const CellIndex& cell, std::size_t at_once) {
    const bool healthy = std::find(calibrated.begin(), calibrated.end(), cell) != calibrated.end();
    return at_once > 1 && !healthy ? 8.5 : 10.0;
  });
  const MatrixResult result = measured(sampler, 8).results.front();
  EXPECT_EQ(result.cells(CellStatus::ok), 56u);
  for (const auto& value : result.values) EXPECT_NEAR(value.value_or(10), 10, 1e-9);
  EXPECT_EQ(result.schedule.rounds, 1u + 13 * 4);
  EXPECT_EQ(result.schedule.controlled_rounds, 1u) << "of those whose values stand; a cell alone needs none";
  EXPECT_EQ(result.schedule.pairs_at_once, 4u);
  EXPECT_NEAR(*result.schedule.interference, 0, 1e-9);
}

TEST(ControlMeasurements, SayWhatStandsUnaskedWhereTheTimeIsOverOnceOneRoundIsDisturbed) {
  ScriptedSampler sampler([](const CellIndex& cell, std::size_t at_once) {
    const Round calibrated = matchings(8).front();
    const bool healthy = std::find(calibrated.begin(), calibrated.end(), cell) != calibrated.end();
    return at_once > 1 && !healthy ? 8.5 : 10.0;
  });
  sampler.script = [&](const CellIndex&, const SampleRule&, Sampled&) {
    // all rounds were measured, and one was found to disturb itself
    if (sampler.rounds.size() == 26) std::this_thread::sleep_for(std::chrono::milliseconds(600));
  };
  const MatrixResult result = measured(sampler, 8, {.max_seconds = 0.5}).results.front();
  ASSERT_LT(worst_value(result), 9);
  EXPECT_TRUE(has_note(result, "the time limit of this matrix passed"));
  EXPECT_NEAR(*result.schedule.interference, 0.15, 1e-9) << "as much may be in the values of those rounds";
}

TEST(ControlMeasurements, LetNoValueStandThatWasDisturbedAndCouldNotBeMeasuredAgain) {
  const Round disturbed = matchings(4).at(2);
  ScriptedSampler sampler([&](const CellIndex& cell, std::size_t at_once) {
    return at_once > 1 && std::find(disturbed.begin(), disturbed.end(), cell) != disturbed.end() ? 8.0 : 10.0;
  });
  sampler.script = [&](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    if (!(cell == disturbed.front()) || !rule.verify || sampler.rounds.back().size() > 1) return;
    answer = {.status = CellStatus::error, .why = "xid 79"};
  };
  const MatrixResult result = measured(sampler, 4).results.front();
  EXPECT_EQ(result.status(disturbed.front().row, disturbed.front().column), CellStatus::error);
  EXPECT_FALSE(result.values(disturbed.front().row, disturbed.front().column));
  EXPECT_EQ(result.cells(CellStatus::ok), 11u);
}

TEST(ControlMeasurements, OneOddSampleIsLookedAtAgainAndCostsNoRound) {
  ScriptedSampler sampler(ten);
  bool is_first = true;
  sampler.script = [&](const CellIndex&, const SampleRule& rule, Sampled& answer) {
    if (rule.verify || sampler.rounds.size() < 20 || sampler.rounds.back().size() > 1) return;
    if (std::exchange(is_first, false)) answer.samples.front().whole.end *= 1.1;
  };
  const MatrixResult result = measured(sampler, 8).results.front();
  EXPECT_FALSE(is_first);
  EXPECT_FALSE(has_note(result, "smaller parts"));
  EXPECT_EQ(result.schedule.rounds, 14u);
}

TEST(ControlMeasurements, OfManyEndpointsAreThoseOfRoundsDrawnAtRandom) {
  ScriptedSampler sampler(ten);
  const MatrixResult result = measured(sampler, 200).results.front();
  EXPECT_GT(result.schedule.controlled_rounds, 20u);
  EXPECT_LT(result.schedule.controlled_rounds, 140u);
  EXPECT_EQ(result.schedule.rounds, 398u);
  EXPECT_LE(cost_of(sampler).deciding, 0.05 * cost_of(sampler).rounds + 5);
}

TEST(ControlMeasurements, OfManyEndpointsSayWhatTheyLetPass) {
  ScriptedSampler sampler([](const CellIndex& cell, std::size_t at_once) {
    return at_once > 1 && (cell.row + cell.column) % 2 == 0 ? 9.5 : 10.0;  // not in the calibration's round
  });
  const MatrixResult result = measured(sampler, 100).results.front();
  EXPECT_TRUE(has_note(result, "concurrent pairs change the values of a pair"));
  EXPECT_NEAR(*result.schedule.interference, 0.05, 1e-9);
}

TEST(Calibration, TakesASampleOfEachCellAndThreeOnlyWhereItIsInDoubt) {
  ScriptedSampler sampler(ten);
  measured(sampler, 8);
  EXPECT_EQ(sampler.samples[0], 1);
  EXPECT_EQ(sampler.rounds[4].size(), 4u);
  EXPECT_TRUE(sampler.counted[5]) << "four cells alone, all of them, and that is it";
  ScriptedSampler odd(ten);
  odd.script = [&](const CellIndex&, const SampleRule&, Sampled& answer) {
    if (odd.rounds.size() == 2) answer.samples.front().whole.end *= 1.1;
  };
  EXPECT_EQ(measured(odd, 8).results.front().schedule.pairs_at_once, 4u);
  EXPECT_EQ(odd.samples[5], 3);
}

TEST(Calibration, SaysWhatPairsDoToEachOtherWhereTheyAreMeasuredOneByOne) {
  ScriptedSampler sampler([](const CellIndex&, std::size_t at_once) { return at_once > 1 ? 8.0 : 10.0; });
  const MatrixResult result = measured(sampler, 4).results.front();
  EXPECT_FALSE(result.schedule.at_once);
  EXPECT_EQ(result.schedule.interference, 0.0);
  EXPECT_TRUE(
      has_note(result, "concurrent pairs change the value of a pair by 20.0 %: the pairs were measured one by one"));
}

}  // namespace
}  // namespace linkmatrix
