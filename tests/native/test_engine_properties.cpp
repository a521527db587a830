#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "measured_matrix.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

/// A machine on which everything goes wrong now and then, by its seed.
class Trouble {
 public:
  explicit Trouble(unsigned seed)
      : n{2 + seed % 7},
        is_cut_short{seed % 13 == 0},
        random_{seed},
        corrupt_{chance(0.3) ? 0.02 : 0},
        fails_{chance(0.3) ? 0.05 : 0},
        loses_{chance(0.2) ? 0.01 : 0},
        together_{chance(0.3) ? 0.8 : 1} {
    while (chance(0.4)) slow_.insert({random_() % n, random_() % n});
    sampler.script = [this](const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
      poison(cell, rule, answer);
    };
    constexpr std::array metrics{Metric::bidirectional, Metric::latency, Metric::bandwidth};
    constexpr std::array ways{Concurrency::rounds, Concurrency::serial, Concurrency::automatic, Concurrency::automatic};
    MeasureOptions options{.concurrency = ways.at(seed % ways.size())};
    if (seed % 11 == 0) options.max_seconds = 1e-4;
    const Deadline deadline = is_cut_short ? Deadline::in(1e-3) : Deadline::never();
    record = measured(sampler, n, options, deadline, metrics.at(seed % metrics.size()), seed % 5 == 0);
  }

  bool was_corrupt(std::size_t row, std::size_t column) const {
    const bool both = record.results.front().metric == Metric::bidirectional;
    return wrong.contains({row, column}) || (both && wrong.contains({column, row}));
  }

  const std::size_t n;
  const bool is_cut_short;     ///< by the deadline
  std::set<CellIndex> wrong;   ///< cells of which wrong data arrived, once at least
  std::set<std::size_t> lost;  ///< endpoints
  ScriptedSampler sampler{[this](const CellIndex& cell, std::size_t at_once) {
    const bool shares = at_once > 1 && (cell.row + cell.column) % 3 == 0;
    return (slow_.contains(cell) ? 7 : 10) * (shares ? together_ : 1) * noise_(random_);
  }};
  Record record;

 private:
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }

  void poison(const CellIndex& cell, const SampleRule& rule, Sampled& answer) {
    const auto end = [&](CellStatus status) { answer = {.status = status}; };
    if (!sampler.is_available(cell)) return end(CellStatus::timeout);
    if (chance(loses_)) {
      sampler.lose(*lost.insert(chance(0.5) ? cell.row : cell.column).first);
      return end(CellStatus::timeout);
    }
    if (rule.verify && chance(corrupt_)) {
      wrong.insert(cell);
      answer.status = CellStatus::corrupt;
      if (chance(0.3)) answer.samples.clear();
    } else if (chance(fails_)) {
      end(chance(0.5) ? CellStatus::timeout : CellStatus::error);
    }
  }

  std::mt19937 random_;
  std::normal_distribution<double> noise_{1, 0.001};
  double corrupt_, fails_, loses_, together_;  ///< how often, and what others cost
  std::set<CellIndex> slow_;
};

constexpr unsigned machines = 2000;

TEST(EngineInTrouble, NoCellAndNoRunIsCalledGoodThatIsNot) {
  for (unsigned seed = 0; seed < machines; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trouble machine(seed);
    const MatrixResult& m = machine.record.results.front();
    for (std::size_t r = 0; r < machine.n; ++r)
      for (std::size_t c = 0; c < machine.n; ++c) {
        if (r == c) continue;
        const bool is_ok = m.status(r, c) == CellStatus::ok;
        EXPECT_FALSE(is_ok && machine.was_corrupt(r, c));
        EXPECT_TRUE(m.values(r, c) ? is_ok || m.status(r, c) == CellStatus::corrupt : !is_ok);
        EXPECT_EQ(m.sampled(r, c).size(), static_cast<std::size_t>(m.samples(r, c).value_or(0)));
        EXPECT_EQ(m.began(r, c).has_value(), m.values(r, c).has_value());
        EXPECT_TRUE(machine.is_cut_short || m.status(r, c) != CellStatus::not_run);
        if (!is_ok) continue;
        EXPECT_LE(*m.low(r, c), *m.values(r, c));
        EXPECT_LE(*m.values(r, c), *m.high(r, c));
        EXPECT_LE(*m.began(r, c), *m.ended(r, c));
      }
    EXPECT_EQ(m.cells_verified, m.cells(CellStatus::ok));
    EXPECT_EQ(machine.record.lost.size(), machine.lost.size());
    EXPECT_LE(m.schedule.controlled_rounds, m.schedule.rounds);
    const bool is_good = machine.lost.empty() && machine.wrong.empty();
    EXPECT_TRUE(is_good || judge(machine.record).word != "PASS");
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace linkmatrix
