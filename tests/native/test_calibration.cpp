#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>

#include "measure/calibration.hpp"
#include "measured_matrix.hpp"

namespace linkmatrix {
namespace {

/// A calibration alone, over rounds of n endpoints.
class Calibrated {
 public:
  Calibrated(ScriptedSampler& sampler, std::size_t n, std::vector<Round> rounds)
      : rounds_(std::move(rounds)), record_(empty(n)), store_(record_), work_{.rounds = rounds_} {
    Context context(sampler, work_, options_, Deadline::never(), store_);
    Calibration calibration(context, rounds_);
    at_once = calibration.concurrent_cells();
    round = calibration.calibrated_round();
    result = record_.read([](const Record& r) { return r.results.front(); });
  }

  std::size_t at_once = 0;
  std::optional<std::size_t> round;
  MatrixResult result;

 private:
  static Record empty(std::size_t n) {
    Record record;
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < n; ++i) labels.push_back("dev" + std::to_string(i));
    record.results.emplace_back().set_labels(labels, labels);
    return record;
  }

  ListedRounds rounds_;
  const MeasureOptions options_;
  Guarded<Record> record_;
  ResultStore store_;
  Work work_;
};

constexpr std::size_t everything = static_cast<std::size_t>(-1);
const Round two{{0, 1}, {2, 3}}, one{{0, 2}};

/// Cells that are slower by a half if more than `most` run concurrently.
ScriptedSampler::Rate slow_beyond(std::size_t most) {
  return [most](const CellIndex&, std::size_t at_once) { return at_once > most ? 5.0 : 10.0; };
}

TEST(Calibration, IsOfTheFullestRoundWhereverThatStands) {
  ScriptedSampler sampler(ten), disturbed(slow_beyond(1));
  const Calibrated well(sampler, 4, {one, two});
  EXPECT_EQ(well.at_once, everything);
  EXPECT_EQ(well.round, 1u) << "which needs no other look";
  EXPECT_EQ(Calibrated(disturbed, 4, {one, two}).at_once, 1u);
}

TEST(Calibration, FindsHowManyDoNotDisturbEachOther) {
  ScriptedSampler sampler(slow_beyond(2));
  const Calibrated found(sampler, 8, {{{0, 1}, {2, 3}, {4, 5}, {6, 7}}});
  EXPECT_EQ(found.at_once, 2u);
  EXPECT_FALSE(found.round) << "it was not shown to run as a whole";
}

TEST(Calibration, OfCellsThatFailSaysNothingAndTheRoundsSayWhatIsWrong) {
  ScriptedSampler sampler(slow_beyond(1));
  sampler.script = [](const CellIndex& cell, const SampleRule&, Sampled& answer) {
    if (cell == CellIndex{2, 3}) answer.status = CellStatus::error;
  };
  const Calibrated found(sampler, 4, {two});
  EXPECT_EQ(found.at_once, everything);
  EXPECT_FALSE(found.round);
}

TEST(Calibration, OfMoreEndpointsThanCanBeMeasuredOneByOneLetsAllRunAndSaysIt) {
  ScriptedSampler few(slow_beyond(1)), many(slow_beyond(1));
  EXPECT_EQ(Calibrated(few, most_serial, {two}).at_once, 1u);
  const Calibrated found(many, most_serial + 1, {two});
  EXPECT_EQ(found.at_once, everything);
  EXPECT_TRUE(has_note(found.result, "by 50.0 %: the matrix is too large to measure the pairs one by one"));
}

TEST(Calibration, DoesNotTakeWhatChangesWithTimeForTheOthersDoing) {
  // Each measurement is slower than the previous one: two cells alone, both; then, thoroughly, two alone, both, and two
  // alone again.
  constexpr std::array rates{10.0, 10.0, 9.5, 10.0, 10.0, 9.5, 9.0, 9.0};
  ScriptedSampler* self = nullptr;
  ScriptedSampler sampler([&](const CellIndex&, std::size_t) { return rates.at(self->rounds.size() - 1); });
  self = &sampler;
  EXPECT_EQ(Calibrated(sampler, 4, {two}).at_once, everything);
  EXPECT_EQ(sampler.rounds.size(), rates.size());
}

}  // namespace
}  // namespace linkmatrix
