#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "collective/collective_sampler.hpp"
#include "measure/simulated_fault.hpp"

namespace linkmatrix {
namespace {

/// Ranks with scripted answers.
class ScriptedCollectives final : public Collectives {
 public:
  explicit ScriptedCollectives(double seconds) : seconds_{seconds} {}

  Machine& machine() override { throw std::logic_error("no machine"); }
  std::vector<std::string> ranks() const override { return {"rank0", "rank1", "rank2", "rank3"}; }
  Engine engine() const override { return Engine::mpi; }
  Memory memory() const override { return Memory::host; }
  std::vector<std::uint64_t> default_sizes() const override { return {1024}; }
  std::optional<std::string> refusal(const CollectiveCase&) const override { return std::nullopt; }
  CollectiveAnswer prepare(const CollectiveCase& wanted, double) override {
    prepared.push_back(wanted);
    return {};
  }
  CollectiveAnswer run(const Burst& burst, double) override {
    bursts.push_back(burst);
    if (fails_at == bursts.size()) return {.status = *(gone = fails_as), .why = "rank2 does not answer"};
    const double first = bursts.size() == 1 ? slow_start : 1;
    CollectiveAnswer answer{.choice = "RING, LL"};
    answer.seconds.assign(static_cast<std::size_t>(burst.samples), seconds_ * burst.repeats * first);
    answer.seconds.front() *= slow_in_burst;
    for (int sample = 0; burst.compares && sample < burst.samples; ++sample)
      answer.wrong.push_back(wrong_after(++compared) || (burst.wrong >> sample & 1U) != 0 ? 1 : 0);
    answer.comparing = comparing;
    return answer;
  }
  std::optional<CellStatus> lost_status() const override { return gone; }
  std::vector<Lost> take_lost() override { return {}; }

  std::vector<CollectiveCase> prepared;
  std::vector<Burst> bursts;
  std::size_t fails_at = 0;
  CellStatus fails_as = CellStatus::timeout;
  std::optional<CellStatus> gone;
  std::function<bool(int sample)> wrong_after = [](int) { return false; };  ///< by the number of the comparison
  int compared = 0;
  double comparing = 0;
  double slow_start = 1, slow_in_burst = 1;

 private:
  double seconds_;
};

constexpr CollectiveCase all_reduce{.bytes = 1 << 20};
const Round first{{0, 0}};

TEST(CollectiveSampler, HasTheBusBandwidthOfTheMeanOfAllRanks) {
  ScriptedCollectives ranks(1e-3);
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  const Sampled sampled = sampler.sample(first, {}).front();
  EXPECT_EQ(sampled.status, CellStatus::ok);
  EXPECT_TRUE(sampled.verified);
  const auto values = values_of(Metric::bandwidth, sampled);
  ASSERT_EQ(values.size(), 7u);
  EXPECT_NEAR(values.front(), (1 << 20) * 1.5 / 1e-3 * 1e-9, 1e-9) << "2 (n - 1) / n of 4 ranks is 1.5";
  EXPECT_EQ(sampler.choices().at({0, 0}), "RING, LL");
}

TEST(CollectiveSampler, RepeatsAShortCollectiveUntilTheSampleIsLong) {
  ScriptedCollectives ranks(1e-4);
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  sampler.sample(first, {});
  EXPECT_EQ(ranks.bursts.back().repeats, 20) << "2 ms";
  EXPECT_EQ(ranks.bursts.back().samples, 1);
  ScriptedCollectives cold(1e-4);
  cold.slow_start = 40;
  CollectiveSampler again(cold, {{{0, 0}, all_reduce}}, 1);
  again.sample(first, {});
  EXPECT_EQ(cold.bursts.back().repeats, 20) << "what the first one took is no measure of the others";
}

TEST(CollectiveSampler, TakesEachLongCollectiveForASampleAndRunsNoneAlone) {
  ScriptedCollectives ranks(0.004);
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  const Sampled sampled = sampler.sample(first, {}).front();
  EXPECT_EQ(ranks.bursts.size(), 2u) << "one to know how long it takes, and all samples without a pause";
  EXPECT_EQ(ranks.bursts.back().repeats, 1);
  EXPECT_EQ(sampled.samples.size(), 7u);
  EXPECT_NEAR(values_of(Metric::bandwidth, sampled).front(), (1 << 20) * 1.5 / 0.004 * 1e-9, 1e-9);
  ScriptedCollectives slow(10);
  CollectiveSampler again(slow, {{{0, 0}, all_reduce}}, 1);
  const StopRule two{.min_samples = 2, .max_samples = 2};
  EXPECT_EQ(again.sample(first, {.stop = two}).front().samples.size(), 2u) << "as many as are asked for";
  EXPECT_EQ(slow.bursts.back().samples, 3) << "one that runs alone is slower";
}

TEST(CollectiveSampler, OfABurstThatHasMoreThanIsWantedTheLastOnesCount) {
  ScriptedCollectives ranks(10);
  ranks.slow_in_burst = 1.5;  // all begin together, and no collective has run before
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  const StopRule two{.min_samples = 2, .max_samples = 2};
  for (const double value : values_of(Metric::bandwidth, sampler.sample(first, {.stop = two}).front()))
    EXPECT_NEAR(value, (1 << 20) * 1.5 / 10 * 1e-9, 1e-12);
}

TEST(CollectiveSampler, ATimeThatIsNoneIsAnError) {
  for (const double seconds : {0.0, -1e-3, std::nan(""), std::numeric_limits<double>::infinity()}) {
    ScriptedCollectives ranks(seconds);
    CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
    const Sampled sampled = sampler.sample(first, {.until = Deadline::in(5)}).front();
    EXPECT_EQ(sampled.status, CellStatus::error) << seconds;
    EXPECT_TRUE(sampled.samples.empty()) << seconds;
    EXPECT_NE(sampled.why.find("less time than"), std::string::npos) << sampled.why;
  }
}

TEST(CollectiveSampler, SaysByWhatItRanAlsoWhereNothingIsCompared) {
  ScriptedCollectives ranks(1e-3);
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  sampler.sample(first, {.verify = false});
  ASSERT_TRUE(sampler.choices().contains({0, 0})) << "without it, nobody knows what the figure is of";
  EXPECT_EQ(sampler.choices().at({0, 0}), "RING, LL");
}

TEST(CollectiveSampler, OneWrongElementIsCorrupt) {
  ScriptedCollectives ranks(1e-3);
  ranks.wrong_after = [](int sample) { return sample == 3; };
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  const Sampled sampled = sampler.sample(first, {}).front();
  EXPECT_EQ(sampled.status, CellStatus::corrupt);
  EXPECT_NE(sampled.why.find("1 wrong elements arrived"), std::string::npos) << sampled.why;
  EXPECT_EQ(sampled.coverage.wrong_samples, 1u);
  EXPECT_EQ(sampler.wrong().at({0, 0}), 1u);
}

TEST(CollectiveSampler, FindsEverySampleThatIsWrong) {
  for (const double seconds : {1e-4, 0.004})  // samples of several collectives, and of one in a row
    for (const int every : {1, 2, 7})
      for (int first_wrong = 1; first_wrong <= every; ++first_wrong) {
        ScriptedCollectives ranks(seconds);
        ranks.wrong_after = [=](int sample) { return sample % every == first_wrong % every; };
        CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
        const Sampled sampled = sampler.sample(first, {}).front();
        EXPECT_EQ(sampled.status, CellStatus::corrupt) << every << ' ' << first_wrong;
        EXPECT_EQ(sampled.coverage.samples, 7u);
        EXPECT_EQ(sampled.coverage.wrong_samples, static_cast<std::uint64_t>((7 - first_wrong) / every + 1));
        EXPECT_EQ(sampled.coverage.compared_transfers, 7u);
        EXPECT_EQ(sampled.coverage.transfers, static_cast<std::uint64_t>(7 * sampled.transfers));
      }
}

TEST(CollectiveSampler, ComparesAllOfTheFirstBurstAndThenWhatFitsItsTime) {
  ScriptedCollectives ranks(1e-4);
  ranks.comparing = 0.002;  // as long as a sample: a twentieth of it each time
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  const Sampled sampled = sampler.sample(first, {}).front();
  EXPECT_TRUE(sampled.verified);
  EXPECT_EQ(ranks.bursts.at(1).blocks.every, 1u);
  EXPECT_EQ(ranks.bursts.back().blocks.every, 20u);
  EXPECT_NE(ranks.bursts.back().blocks.first, ranks.bursts.at(ranks.bursts.size() - 2).blocks.first);
}

TEST(CollectiveSampler, WhatIsNotComparedIsNotVerified) {
  ScriptedCollectives ranks(1e-3);
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  const Sampled sampled = sampler.sample(first, {.verify = false}).front();
  EXPECT_FALSE(sampled.verified);
  EXPECT_EQ(sampled.coverage.samples, 0u);
  EXPECT_EQ(ranks.prepared.front().windows, 0);
}

TEST(CollectiveSampler, HasNoMoreWindowsThanMemoryAllows) {
  ScriptedCollectives ranks(0.1);
  CollectiveSampler sampler(ranks, {{{0, 0}, {.bytes = 100 << 20}}}, 1);
  const Sampled sampled = sampler.sample(first, {}).front();
  EXPECT_EQ(ranks.prepared.front().windows, 1);
  EXPECT_EQ(ranks.bursts.back().samples, 1);
  EXPECT_EQ(ranks.bursts.back().repeats, 3);
  EXPECT_EQ(sampled.coverage.samples, sampled.samples.size());
}

TEST(CollectiveSampler, ADrillHasEverySoManyThSampleWrong) {
  ScriptedCollectives ranks(1e-3);
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
  sampler.set_simulated_fault(parse_simulated_fault("corrupt=7:rank2"));
  FaultySampler faulty(sampler, parse_simulated_fault("corrupt=7:rank2"));
  const Sampled sampled = faulty.sample(first, {}).front();
  EXPECT_EQ(sampled.status, CellStatus::corrupt);
  EXPECT_EQ(sampled.coverage.wrong_samples, 1u);
  EXPECT_EQ(ranks.bursts.back().wrong_rank, 2);
}

TEST(CollectiveSampler, ARankThatIsLostIsNoValueAndEndsTheOthers) {
  ScriptedCollectives ranks(1e-3);
  ranks.fails_at = 4;
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}, {{0, 1}, all_reduce}}, 1);
  const Sampled sampled = sampler.sample(first, {}).front();
  EXPECT_EQ(sampled.status, CellStatus::timeout);
  EXPECT_EQ(sampled.why, "rank2 does not answer");
  EXPECT_TRUE(sampled.samples.empty());
  EXPECT_FALSE(sampler.is_available({0, 1}));
  EXPECT_EQ(sampler.lost_status({0, 1}), CellStatus::timeout);
}

TEST(CollectiveSampler, TakesEachColumnsOwnCase) {
  ScriptedCollectives ranks(1e-3);
  CollectiveCase in_place = all_reduce;
  in_place.in_place = true;
  CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}, {{0, 1}, in_place}}, 1);
  sampler.sample({{0, 1}}, {});
  ASSERT_EQ(ranks.prepared.size(), 1u);
  EXPECT_TRUE(ranks.prepared.front().in_place);
  EXPECT_EQ(sampler.paths({0, 0}).size(), 4u) << "every rank takes part, for drills";
}

TEST(CollectiveSampler, ASendIsOfItsTwoRanks) {
  ScriptedCollectives ranks(1e-3);
  CollectiveSampler sampler(
      ranks, {{{1, 3}, {.collective = Collective::send, .bytes = 1 << 20, .source = 1, .destination = 3}}}, 1);
  const Sampled sampled = sampler.sample({{1, 3}}, {}).front();
  EXPECT_NEAR(values_of(Metric::bandwidth, sampled).front(), (1 << 20) / 1e-3 * 1e-9, 1e-9);
  const auto paths = sampler.paths({1, 3});
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths.front().source, "rank1");
  EXPECT_EQ(paths.front().destination, "rank3");
}

TEST(CollectiveSampler, HasNothingLeftInADrillWhereOneOfItsRanksFails) {
  for (const auto& [kind, status] : {std::pair{SimulatedFault::Kind::error, CellStatus::error},
                                     std::pair{SimulatedFault::Kind::hang, CellStatus::timeout}}) {
    ScriptedCollectives ranks(1e-3);
    CollectiveSampler sampler(ranks, {{{0, 0}, all_reduce}}, 1);
    FaultySampler faulty(sampler, {kind, "rank1"});
    EXPECT_EQ(faulty.sample(first, {.until = Deadline::in(0.01)}).front().status, status);
    EXPECT_FALSE(faulty.is_available({0, 0}));
  }
}

}  // namespace
}  // namespace linkmatrix
