#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "measure/engine.hpp"
#include "ranks/coordinator.hpp"
#include "scripted_ranks.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr int ranks_of_node = 4;

std::vector<RankFacts> facts_of_one_node() {
  std::vector<RankFacts> facts(ranks_of_node);
  for (int rank = 0; rank < ranks_of_node; ++rank) {
    put(facts[static_cast<std::size_t>(rank)].node, "n0");
    put(facts[static_cast<std::size_t>(rank)].device, "rank" + std::to_string(rank));
  }
  return facts;
}

/// A matrix between four ranks of one node, measured by the engine.
class Measured {
 public:
  explicit Measured(ScriptedRanks& ranks, Metric metric = Metric::bandwidth, int short_samples = 0) {
    const RankTable table(facts_of_one_node(), {});
    const RankRounds rounds = table.rounds(false, metric == Metric::bidirectional, false);
    Order form;
    form.metric = metric;
    form.bytes = 1 << 20;
    form.time_limit = 5;
    record_.change([&](Record& record) {
      MatrixResult& result = record.results.emplace_back();
      result.metric = metric;
      result.memory = Memory::host;
      result.engine = Engine::mpi;
      result.unit = metric == Metric::latency ? "us" : "GB/s";
      result.size_bytes = form.bytes;
      result.verify = true;
      result.set_labels(table.labels(false), table.labels(false));
      for (std::size_t r = 0; r < ranks_of_node; ++r)
        for (std::size_t c = 0; c < ranks_of_node; ++c) result.link_class(r, c) = table.link_class(false, r, c);
    });
    Coordinator coordinator(ranks, table, rounds, form);
    ResultStore store(record_);
    MeasureOptions options;
    options.short_samples = short_samples;
    linkmatrix::measure(coordinator, {rounds}, options, Deadline::in(60), store);
  }

  MatrixResult result() const {
    return record_.read([](const Record& record) { return record.results.back(); });
  }
  std::vector<Lost> lost() const {
    return record_.read([](const Record& record) { return record.lost; });
  }

 private:
  Guarded<Record> record_;
};

bool is_cell(const Order& order, int source, int destination) {
  return order.pair.front().source == source && order.pair.front().destination == destination;
}

bool has(const Order& order, int rank) {
  return order.pair.front().source == rank || order.pair.front().destination == rank;
}

/// Returns how often the data of a cell was compared.
int verified_before(const ScriptedRanks& ranks, int source, int destination) {
  int times = 0;
  for (const Order& order : ranks.asked()) times += order.verify && is_cell(order, source, destination);
  return times;
}

void slow_down(CellAnswer& answer) {
  for (Sample& sample : answer.samples) sample.whole.end += sample.whole.seconds();
}

TEST(Coordinator, MeasuresEveryPair) {
  ScriptedRanks ranks;
  const MatrixResult result = Measured(ranks).result();
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(result.cells(CellStatus::ok), 12u);
  EXPECT_NEAR(*result.values(1, 2), 10, 1e-6);
  EXPECT_EQ(result.verified(), true);
}

TEST(Coordinator, OrdersShortSamplesOfTheSameNumberOfMessagesEachTime) {
  for (const Metric metric : {Metric::bandwidth, Metric::bidirectional, Metric::latency}) {
    ScriptedRanks ranks;
    const MatrixResult result = Measured(ranks, metric, 66).result();
    ASSERT_TRUE(result.short_samples);
    EXPECT_EQ(std::ranges::min(result.short_sample_counts()), 66u);
    std::set<int> messages;
    for (const Order& order : ranks.asked()) {
      const bool is_trial = order.stop.min_samples == 3;
      if (order.transfers == 0 || is_trial) continue;
      messages.insert(order.transfers);
      EXPECT_FALSE(order.verify);
      EXPECT_EQ(order.bytes, 1u << 20);
    }
    EXPECT_EQ(messages, std::set<int>{result.short_samples->transfers});
  }
}

TEST(Coordinator, WrongBytesStayThoughTheSecondLookFindsNone) {
  // an outlier, so that the cell is remeasured; its bytes are wrong only in the first comparison
  ScriptedRanks* all = nullptr;
  ScriptedRanks ranks([&all](const Order& order, CellAnswer& answer) {
    if (!is_cell(order, 2, 1)) return;
    if (order.verify && verified_before(*all, 2, 1) == 0) {
      slow_down(answer);
      answer.report.wrong_bytes = 77;
    }
  });
  all = &ranks;
  const MatrixResult result = Measured(ranks).result();
  EXPECT_EQ(result.status(2, 1), CellStatus::corrupt);
  EXPECT_EQ(result.verified(), false);
  EXPECT_NE(std::find(result.notes.begin(), result.notes.end(), "n0:rank2->n0:rank1: 77 wrong bytes arrived"),
            result.notes.end());
}

TEST(Coordinator, WrongBytesOfEachSamplingAreReported) {
  ScriptedRanks ranks([](const Order& order, CellAnswer& answer) {
    if (order.verify && is_cell(order, 0, 3)) answer.report.wrong_bytes = 5;
  });
  const RankTable table(facts_of_one_node(), {});
  const RankRounds rounds = table.rounds(false, false, false);
  Order form;
  form.bytes = 4096;
  Coordinator coordinator(ranks, table, rounds, form);
  for (int time = 0; time < 2; ++time) {
    const auto answers = coordinator.sample({{0, 3}, {1, 2}}, {});
    EXPECT_EQ(answers[0].status, CellStatus::corrupt);
    EXPECT_EQ(answers[0].why, "5 wrong bytes arrived");
    EXPECT_FALSE(answers[0].samples.empty());
    EXPECT_EQ(answers[1].status, CellStatus::ok);
    EXPECT_TRUE(answers[1].verified);
  }
}

TEST(Coordinator, ARankThatFallsSilentInTheSecondLookCostsNoResult) {
  ScriptedRanks* all = nullptr;
  ScriptedRanks ranks([&all](const Order& order, CellAnswer& answer) {
    if (!order.verify || !is_cell(order, 2, 1)) return;
    if (verified_before(*all, 2, 1) == 0) return slow_down(answer);
    all->silence(2);
    ScriptedRanks::time_out(answer);
  });
  all = &ranks;
  const Measured measured(ranks);
  const MatrixResult result = measured.result();
  for (std::size_t r = 0; r < ranks_of_node; ++r)
    for (std::size_t c = 0; c < ranks_of_node; ++c) {
      if (r == c) continue;
      EXPECT_TRUE(result.values(r, c)) << r << "->" << c;
    }
  ASSERT_EQ(measured.lost().size(), 1u);  // the run is no PASS
  EXPECT_EQ(measured.lost().front().label, "n0:rank2");
}

TEST(Coordinator, ARankThatFallsSilentCostsItsRowAndColumn) {
  ScriptedRanks* all = nullptr;
  ScriptedRanks ranks([&all](const Order& order, CellAnswer& answer) {
    if (!has(order, 3)) return;
    all->silence(3);
    ScriptedRanks::time_out(answer);
  });
  all = &ranks;
  const Measured measured(ranks);
  EXPECT_EQ(measured.result().cells(CellStatus::timeout), 6u);
  EXPECT_EQ(measured.result().cells(CellStatus::ok), 6u);
  ASSERT_EQ(measured.lost().size(), 1u);
}

TEST(Coordinator, AsksNobodyForCellsOfALostRank) {
  ScriptedRanks ranks;
  ranks.silence(1);
  const RankTable table(facts_of_one_node(), {});
  const RankRounds rounds = table.rounds(false, false, false);
  Coordinator coordinator(ranks, table, rounds, {});
  EXPECT_FALSE(coordinator.is_available({1, 0}));
  const auto answers = coordinator.sample({{1, 0}, {2, 3}}, {});
  EXPECT_EQ(answers[0].status, CellStatus::timeout);
  EXPECT_EQ(answers[1].status, CellStatus::ok);
  ASSERT_EQ(ranks.asked().size(), 1u);
  EXPECT_TRUE(is_cell(ranks.asked().front(), 2, 3));
}

TEST(Coordinator, GivesAPairNoMoreTimeThanThereIs) {
  ScriptedRanks ranks;
  const RankTable table(facts_of_one_node(), {});
  const RankRounds rounds = table.rounds(false, false, false);
  Order form;
  form.time_limit = 30;
  Coordinator coordinator(ranks, table, rounds, form);
  SampleRule rule;
  coordinator.sample({{0, 1}}, rule);
  EXPECT_EQ(ranks.asked().back().time_limit, 30);
  rule.until = Deadline::in(2);
  coordinator.sample({{0, 1}}, rule);
  EXPECT_LE(ranks.asked().back().time_limit, 2);
  rule.until = Deadline::in(-1);
  EXPECT_EQ(coordinator.sample({{0, 1}}, rule).front().status, CellStatus::timeout);
  EXPECT_EQ(ranks.calls(), 2);
}

TEST(Coordinator, KeepsBothDirectionsApart) {
  ScriptedRanks ranks([](const Order&, CellAnswer& answer) {
    for (Sample& sample : answer.samples)
      sample.directions[1].end = sample.directions[1].start + sample.whole.seconds() / 2;
  });
  const MatrixResult result = Measured(ranks, Metric::bidirectional).result();
  const Values& one_direction = result.parts.at("one_direction").values;
  EXPECT_NEAR(*result.values(0, 1), 20, 1e-6);
  const bool measured_here = std::abs(*one_direction(0, 1) - 10) < 1e-6;
  EXPECT_NEAR(*one_direction(0, 1), measured_here ? 10 : 20, 1e-6);
  EXPECT_NEAR(*one_direction(1, 0), measured_here ? 20 : 10, 1e-6);
}

}  // namespace
}  // namespace linkmatrix::ranks
