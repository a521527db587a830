#include "measure/matching_controls.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/schedule.hpp"
#include "core/statistics.hpp"
#include "measure/calibration.hpp"
#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_controls_alone = 32;  // cells measured alone to determine the cost of full traffic …
constexpr std::size_t share_at_once = 16;        // … this factor fewer concurrently
constexpr double least_cost = 0.05;              // of full traffic, as a fraction
constexpr double sure = 0.001;                   // maximum probability that noise causes the cost

constexpr std::size_t full_matchings = 3, sparse_matchings = 2;  // matchings
constexpr std::size_t sparse_pairs = 4;  // of two groups: no more than a quarter of what usual uplinks carry

void note_crossings(Context& context, const Places& places, const Round& round, bool few) {
  const auto answers = context.sample(round, {.stop = exactly(thorough_samples)});
  std::map<std::pair<std::string, std::string>, std::vector<double>> rates;
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].status == CellStatus::ok && !answers[k].samples.empty())
      rates[{places.group[round[k].row], places.group[round[k].column]}].push_back(context.median_of(answers[k]));
  context.store().change([&](MatrixResult& result) {
    for (const auto& [ends, all] : rates) {
      const double mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
      result.matchings->crossings.push_back(
          {ends.first, ends.second, all.size(), mean, *std::max_element(all.begin(), all.end()), few});
    }
  });
}

}  // namespace

std::optional<Matchings::SharedBottleneck> find_shared_bottleneck(Context& context, MatchingGenerator& generator,
                                                                  std::vector<Suspicion::Value> cells) {
  const std::size_t at_once = std::max<std::size_t>(1, cells.size() / share_at_once);
  generator.shuffle(cells);
  cells.resize(std::min(cells.size(), most_controls_alone));
  std::vector<double> costs;
  std::size_t slower = 0;
  for (const auto& part : split_rounds<Suspicion::Value>({cells}, at_once)) {
    if (context.out_of_time()) break;
    Round round;
    for (const auto& cell : part) round.push_back(cell.place);
    const auto answers = context.sample(round, {.stop = exactly(thorough_samples)});
    for (std::size_t k = 0; k < round.size(); ++k) {
      if (answers[k].status != CellStatus::ok || answers[k].samples.empty()) continue;
      const double alone = context.median_of(answers[k]);
      costs.push_back(worse_by(context.shape().metric, alone, part[k].value));
      slower += costs.back() > 0;
      context.store().change([&](MatrixResult& result) {
        result.controls.push_back({round[k].row, round[k].column, part[k].value, alone});
      });
    }
  }
  if (costs.empty()) return std::nullopt;
  context.store().change([](MatrixResult& result) { result.control_change = control_change(result); });
  const double cost = median(costs);
  context.let_pass(std::abs(cost));
  if (cost < least_cost || binomial_tail(costs.size(), slower, 0.5) > sure) return std::nullopt;
  context.note("pairs are " + percent(cost) + " slower while all endpoints exchange data than alone (" +
               std::to_string(slower) + " of " + std::to_string(costs.size()) +
               "): they share a bottleneck, so no slow endpoint was searched for");
  return Matchings::SharedBottleneck{cost, slower, costs.size()};
}

std::vector<Round> in_lanes(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                            bool back) {
  std::vector<Round> rounds(1 + *std::max_element(lanes.begin(), lanes.end()));
  for (const auto& [a, b] : pairs) rounds[lanes[a]].push_back(back ? Place{b, a} : Place{a, b});
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const Places& places,
                              const std::vector<bool>& out) {
  for (std::size_t k = 0; k < full_matchings + sparse_matchings; ++k) {
    if (context.out_of_time()) return full_matchings + sparse_matchings - k;
    const bool few = k >= full_matchings;
    const auto pairs = generator.across(out, few ? sparse_pairs : out.size());
    for (const bool back : {false, true}) {
      if (back && context.shape().metric == Metric::bidirectional) continue;
      for (const Round& round : in_lanes(pairs, places.lane, back)) note_crossings(context, places, round, few);
    }
  }
  return 0;
}

}  // namespace linkmatrix
