#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "measure/suspicion.hpp"
#include "result_facts.hpp"
#include "simulated_network.hpp"

namespace linkmatrix {
namespace {

using Fault = SimulatedNetwork::Fault;

std::size_t matchings_of(const FewCells& cells, Purpose purpose) {
  const auto& drawn = cells.result.matchings->drawn;
  return static_cast<std::size_t>(
      std::count_if(drawn.begin(), drawn.end(), [&](const auto& one) { return one.purpose == purpose; }));
}

/// In how many matchings after the pause an endpoint's cells were slow, as whoever reads the record sees them.
std::size_t slow_again(const FewCells& cells, std::size_t endpoint) {
  std::size_t slow = 0;
  for (const auto& one : cells.result.matchings->drawn)
    for (std::size_t k = 0; k < one.rows.size() && one.purpose == Purpose::confirm; ++k)
      slow += one.rows[k] == endpoint && cells.cells.at({one.rows[k], one.columns[k]}).value < 50 * 0.95;
  return slow;
}

TEST(MatchingSchedule, OfHealthyEndpointsAreTwoMatchingsAndNothingIsOpen) {
  SimulatedNetwork network(64, {.flukes = 0}, {}, 1);
  const FewCells cells = measured_by_matchings(network, 64, 1);
  EXPECT_EQ(matchings_of(cells, Purpose::random), 2u);
  EXPECT_EQ(cells.result.matchings->drawn.size(), 2u);
  EXPECT_EQ(cells.cells.size(), 2u * 64);
  EXPECT_TRUE(cells.result.matchings->open.empty());
  EXPECT_TRUE(cells.result.schedule.matchings);
  EXPECT_EQ(cells.result.schedule.pairs_at_once, 32u);
  EXPECT_LT(*cells.result.schedule.interference, 0.01);
  EXPECT_EQ(cells.result.controls.size(), 32u);
}

TEST(MatchingSchedule, MeetAnEndpointAtFaultWithGoodOnesAndConfirmItThreeTimes) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedNetwork network(64, {}, {Fault{7, true, false, 0.1}}, seed);
    const FewCells cells = measured_by_matchings(network, 64, seed);
    EXPECT_GE(matchings_of(cells, Purpose::suspects), 1u);
    EXPECT_EQ(matchings_of(cells, Purpose::confirm), confirming_matchings);
    EXPECT_LE(cells.result.matchings->drawn.size(), most_search_matchings + confirming_matchings);
    EXPECT_EQ(slow_again(cells, 7), confirming_matchings);
    EXPECT_TRUE(cells.result.matchings->open.empty());
    ASSERT_EQ(cells.result.matchings->slow_endpoints.size(), 1u);
    const auto& found = cells.result.matchings->slow_endpoints.front();
    EXPECT_TRUE(found.endpoint == 7 && found.sends && !found.receives && found.is_reproduced());
    EXPECT_NEAR(found.shift, -0.1, 0.03);
    EXPECT_EQ(found.slow_again, found.confirmed) << "a pair that met before the pause too counts there";
    EXPECT_GE(found.confirmed, 1u);
    EXPECT_GE(cells.result.matchings->slow_rows.size(), found.slow + found.slow_again);
  }
}

TEST(MatchingSchedule, DrawTheSameFromTheSameSeed) {
  const auto first = [](std::uint32_t seed) {
    SimulatedNetwork network(32, {}, {}, 1);
    return measured_by_matchings(network, 32, seed).result.matchings->drawn.front().columns;
  };
  EXPECT_EQ(first(9), first(9));
  EXPECT_NE(first(9), first(10));
}

TEST(MatchingSchedule, MeasureASlowPathAgainWithTheSamePartnerAndKeepTheMedian) {
  SimulatedNetwork healthy(64, {.flukes = 0}, {}, 3);
  const auto drawn = measured_by_matchings(healthy, 64, 3).result.matchings->drawn.front();
  const CellIndex path{drawn.rows.front(), drawn.columns.front()};
  SimulatedNetwork network(64, {.flukes = 0}, {}, 3);
  network.slow_paths[path] = 0.3;
  const FewCells cells = measured_by_matchings(network, 64, 3);
  ASSERT_EQ(cells.result.remeasured.size(), 1u);
  EXPECT_EQ(cells.result.remeasured.front().row, path.row);
  EXPECT_NEAR(cells.result.remeasured.front().after, 35, 1);
  EXPECT_EQ(cells.result.remeasured.front().outcome, Outcome::reproduced);
  EXPECT_TRUE(cells.result.matchings->slow_endpoints.empty());
  EXPECT_EQ(cells.result.matchings->slow_rows, std::vector{path.row});
  EXPECT_EQ(cells.result.matchings->slow_columns, std::vector{path.column});
  EXPECT_NEAR(cells.cells.at(path).value, 35, 1);
  EXPECT_TRUE(cells.result.matchings->open.empty());
}

TEST(MatchingSchedule, ForgiveWhatWasSlowOnce) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SimulatedNetwork network(64, {.flukes = 0.01, .depth = 0.3}, {}, seed);
    const FewCells cells = measured_by_matchings(network, 64, seed);
    for (const Remeasured& one : cells.result.remeasured) {
      const bool was_fine = one.after > 49;
      EXPECT_TRUE(!was_fine || cells.cells.at({one.row, one.column}).value > 48) << seed;
      EXPECT_TRUE(!was_fine || one.outcome != Outcome::reproduced) << seed;
    }
  }
}

TEST(MatchingSchedule, DoNotConfirmWhatHasPassed) {
  // two random matchings each way, 16 times controls, one matching with good partners
  SimulatedNetwork network(64, {.flukes = 0}, {Fault{5, true, true, 0.3, 1, 22}}, 4);
  const FewCells cells = measured_by_matchings(network, 64, 4);
  EXPECT_EQ(matchings_of(cells, Purpose::confirm), confirming_matchings);
  EXPECT_EQ(slow_again(cells, 5), 0u);
  for (const auto& found : cells.result.matchings->slow_endpoints) EXPECT_FALSE(found.is_reproduced());
}

TEST(MatchingSchedule, LookForNoEndpointWhereAllShareABottleneck) {
  SimulatedNetwork network(64, {}, {Fault{5, true, true, 0.3}}, 4);
  network.most_at_once = 16;  // of 32
  const FewCells cells = measured_by_matchings(network, 64, 4);
  EXPECT_EQ(cells.result.matchings->drawn.size(), 2u);
  EXPECT_NEAR(*cells.result.schedule.interference, 0.5, 0.02);
  EXPECT_TRUE(has_note(cells.result, "they share a bottleneck, so slow endpoints were not searched"));
  EXPECT_TRUE(cells.result.matchings->slow_endpoints.empty());
  const auto& bottleneck = cells.result.matchings->shared_bottleneck;
  ASSERT_TRUE(bottleneck);
  EXPECT_NEAR(bottleneck->loss, 0.5, 0.02);
  EXPECT_EQ(bottleneck->slower, bottleneck->compared);
}

TEST(MatchingSchedule, FindNoSharedBottleneckByTooFewCells) {
  SimulatedNetwork network(8, {}, {}, 4);
  network.most_at_once = 2;  // of 4: by chance, all four cells are slower in one of 16 runs
  const FewCells cells = measured_by_matchings(network, 8, 4);
  EXPECT_NEAR(*cells.result.schedule.interference, 0.5, 0.02);
  EXPECT_FALSE(cells.result.matchings->shared_bottleneck);
}

TEST(MatchingSchedule, FindNoSharedBottleneckWhereFullTrafficCostsLessThanTheLeastLoss) {
  SimulatedNetwork network(64, {}, {}, 4);
  network.most_at_once = 31;  // of 32: a loss of 3 %
  EXPECT_FALSE(measured_by_matchings(network, 64, 4).result.matchings->shared_bottleneck);
}

TEST(MatchingSchedule, BeginNoFurtherMatchingWhenTheTimeIsOverAndSayWhoIsOpen) {
  SimulatedNetwork network(64, {.flukes = 0}, {Fault{5, true, true, 0.3}}, 4);
  const FewCells cells = measured_by_matchings(network, 64, 4, Metric::bandwidth, 1e-9);
  EXPECT_EQ(cells.result.matchings->drawn.size(), 2u) << "each endpoint has its cells whatever the time";
  const auto& open = cells.result.matchings->open;
  EXPECT_NE(std::find(open.begin(), open.end(), "n5"), open.end());
}

TEST(MatchingSchedule, SearchPastEndpointsThatAnswerNothing) {
  SimulatedNetwork network(64, {.flukes = 0}, {Fault{5, true, true, 0.3}}, 4);
  network.dead = {20};
  network.lost = {21};
  const FewCells cells = measured_by_matchings(network, 64, 4);
  EXPECT_EQ(slow_again(cells, 5), confirming_matchings);
  for (const auto& [index, cell] : cells.cells) {
    const bool is_dead = index.row == 20 || index.column == 20;
    EXPECT_EQ(cell.status, is_dead ? CellStatus::timeout : CellStatus::ok);
    EXPECT_FALSE(index.row == 21 || index.column == 21);
  }
}

TEST(MatchingSchedule, OfCellsThatMeasureBothWaysAreOfUnorderedPairs) {
  SimulatedNetwork network(64, {}, {Fault{5, true, true, 0.3}}, 4);
  const FewCells cells = measured_by_matchings(network, 64, 4, Metric::bidirectional);
  EXPECT_EQ(cells.result.matchings->drawn.front().rows.size(), 32u);
  EXPECT_TRUE(cells.result.matchings->open.empty());
}

TEST(MatchingSchedule, KeepWhatWasMeasuredBeforeTheDeadlineAndMarkTheRest) {
  SimulatedNetwork network(16, {}, {}, 1);
  FewCells cells(16);
  EXPECT_THROW(measure_matchings(network, apart(16), {.confirm_after = 0}, Deadline::in(-1), cells), TimedOut);
  EXPECT_EQ(cells.cells.size(), 16u);
  for (const auto& [index, cell] : cells.cells) EXPECT_NE(cell.status, CellStatus::ok);
}

/// Whatever goes wrong, a cell of a matching ends with a value or with the reason why not, and no other cell is
/// touched.
TEST(MatchingSchedule, LeaveNoDrawnCellOpenAndTouchNoOther) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const std::size_t n = 8 + random() % 40;
    std::vector<Fault> faults;
    while (random() % 3 > 0) faults.push_back({random() % n, random() % 2 == 0, random() % 2 == 0, 0.2, 0.7});
    SimulatedNetwork network(n, {.flukes = 0.05, .depth = 0.2}, faults, seed);
    while (random() % 3 == 0) network.dead.insert(random() % n);
    while (random() % 3 == 0) network.lost.insert(random() % n);
    while (random() % 2 == 0) network.slow_paths[{random() % n, random() % n}] = 0.4;
    if (random() % 4 == 0) network.most_at_once = 1 + n / 4;
    const Metric metric = std::array{Metric::bandwidth, Metric::latency, Metric::bidirectional}.at(seed % 3);
    const FewCells cells = measured_by_matchings(network, n, seed, metric, random() % 5 == 0 ? 1e-4 : 600);
    std::set<CellIndex> drawn;
    for (const auto& one : cells.result.matchings->drawn)
      for (std::size_t k = 0; k < one.rows.size(); ++k) drawn.insert({one.rows[k], one.columns[k]});
    for (const CellIndex& index : drawn) {
      EXPECT_NE(cells.status(index), CellStatus::not_applicable);
      EXPECT_NE(cells.status(index), CellStatus::not_run);
      EXPECT_EQ(cells.status(index) == CellStatus::ok, cells.value(index).has_value());
    }
    for (const auto& [index, cell] : cells.cells) EXPECT_TRUE(drawn.contains(index));
    EXPECT_LE(cells.result.matchings->drawn.size(), most_search_matchings + confirming_matchings);
  }
}

/// What a leaf sends to others with all of its endpoints at once, in lines of 50 GB/s, the most of its crossings.
double lines_of(const FewCells& cells, const std::string& leaf) {
  double most = 0;
  for (const auto& one : cells.result.matchings->crossings)
    if (one.from == leaf && !one.few) most = std::max(most, one.rate * static_cast<double>(one.pairs) / 50);
  return most;
}

TEST(MatchingSchedule, OfGroupsStayInsideThemAndMeasureWhatTheirUplinksCarry) {
  SimulatedNetwork network(128, {.flukes = 0}, {Fault{40, true, true, 0.3}}, 4);
  network.leaves = {32, {16, 16, 14, 16}, false};
  const FewCells cells = measured_by_matchings(network, 128, 4);
  for (const auto& one : cells.result.matchings->drawn)
    for (std::size_t k = 0; k < one.rows.size(); ++k) EXPECT_EQ(one.rows[k] / 32, one.columns[k] / 32);
  EXPECT_EQ(slow_again(cells, 40), confirming_matchings)
      << "an endpoint is found behind an uplink that is too narrow for all";
  EXPECT_NEAR(lines_of(cells, "leaf2"), 14, 0.2);
  for (const char* leaf : {"leaf0", "leaf1", "leaf3"}) EXPECT_NEAR(lines_of(cells, leaf), 16, 0.2);
  EXPECT_EQ(cells.result.matchings->groups.size(), 128u);
  for (const auto& one : cells.result.matchings->crossings) {
    EXPECT_LE(one.pairs, one.few ? 4u : 32u);
    EXPECT_TRUE(!one.few || one.rate > 49) << "few at once have their lines";
  }
}

TEST(MatchingSchedule, AcrossGroupsAreLeftOutWhenTheTimeIsOver) {
  SimulatedNetwork network(64, {.flukes = 0}, {}, 4);
  network.leaves = {32, {16, 16}, false};
  const FewCells cells = measured_by_matchings(network, 64, 4, Metric::bandwidth, 1e-9);
  EXPECT_TRUE(cells.result.matchings->crossings.empty());
  EXPECT_TRUE(has_note(cells.result, "5 matchings between groups were not measured"));
}

TEST(Suspicion, NamesNobodyWhereMostAreSlow) {
  Suspicion suspicion(64, Metric::bandwidth);
  MatchingGenerator generator(apart(64), 1);
  std::mt19937 random(1);
  for (int round = 0; round < 6; ++round) {
    std::vector<bool> taken(64);
    std::vector<Suspicion::Value> values;
    for (const auto& [a, b] : generator.pair_rest(taken)) values.push_back({{a, b}, random() % 10 < 4 ? 25.0 : 50.0});
    suspicion.add(values);
  }
  EXPECT_TRUE(suspicion.state().settled.empty());
}

}  // namespace
}  // namespace linkmatrix
