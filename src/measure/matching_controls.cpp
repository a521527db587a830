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

constexpr std::size_t most_rechecked = 32;  // cells that are measured again with little traffic
constexpr std::size_t less_traffic = 16;    // divides the number of concurrent pairs
constexpr double least_loss = 0.05;         // smallest loss of a bottleneck, as a fraction
constexpr double significance = 0.001;      // maximum probability that chance makes as many cells slower

constexpr std::size_t full_matchings = 3, sparse_matchings = 2;
constexpr std::size_t sparse_pairs = 4;  // per two groups: at most a quarter of the rate of common uplinks

void measure_crossing_rates(Context& context, const EndpointGroups& groups, const Round& round, bool few) {
  const auto answers = context.sample(round, {.stop = fixed_sample_count(thorough_samples)});
  std::map<std::pair<std::string, std::string>, std::vector<double>> rates;
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].status == CellStatus::ok && !answers[k].samples.empty())
      rates[{groups.group[round[k].row], groups.group[round[k].column]}].push_back(context.median_of(answers[k]));
  context.store().change([&](MatrixResult& result) {
    for (const auto& [groups, all] : rates) {
      const double mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
      result.matchings->crossings.push_back(
          {groups.first, groups.second, all.size(), mean, *std::max_element(all.begin(), all.end()), few});
    }
  });
}

}  // namespace

std::optional<Matchings::SharedBottleneck> find_shared_bottleneck(Context& context, MatchingGenerator& generator,
                                                                  std::vector<Suspicion::Value> cells) {
  const std::size_t at_once = std::max<std::size_t>(1, cells.size() / less_traffic);
  generator.shuffle(cells);
  cells.resize(std::min(cells.size(), most_rechecked));
  std::vector<double> losses;
  std::size_t slower = 0;
  for (const auto& part : split_rounds<Suspicion::Value>({cells}, at_once)) {
    if (context.out_of_time()) break;
    Round round;
    for (const auto& value : part) round.push_back(value.cell);
    const auto answers = context.sample(round, {.stop = fixed_sample_count(thorough_samples)});
    for (std::size_t k = 0; k < round.size(); ++k) {
      if (answers[k].status != CellStatus::ok || answers[k].samples.empty()) continue;
      const double alone = context.median_of(answers[k]);
      losses.push_back(worse_by(context.description().metric, alone, part[k].value));
      slower += losses.back() > 0;
      context.store().change([&](MatrixResult& result) {
        result.controls.push_back({round[k].row, round[k].column, part[k].value, alone});
      });
    }
  }
  if (losses.empty()) return std::nullopt;
  context.store().change([](MatrixResult& result) { result.control_change = control_change(result); });
  const double loss = median(losses);
  context.record_interference(std::abs(loss));
  if (loss < least_loss || binomial_tail(losses.size(), slower, 0.5) > significance) return std::nullopt;
  context.note("pairs are " + percent(loss) + " slower under full traffic than alone (" + std::to_string(slower) +
               " of " + std::to_string(losses.size()) +
               "): they share a bottleneck, so slow endpoints were not searched");
  return Matchings::SharedBottleneck{loss, slower, losses.size()};
}

std::vector<Round> lane_rounds(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                               bool back) {
  std::vector<Round> rounds(1 + *std::max_element(lanes.begin(), lanes.end()));
  for (const auto& [a, b] : pairs) rounds[lanes[a]].push_back(back ? CellIndex{b, a} : CellIndex{a, b});
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const EndpointGroups& groups,
                              const std::vector<bool>& out) {
  for (std::size_t k = 0; k < full_matchings + sparse_matchings; ++k) {
    if (context.out_of_time()) return full_matchings + sparse_matchings - k;
    const bool few = k >= full_matchings;
    const auto pairs = generator.pair_across_groups(out, few ? sparse_pairs : out.size());
    for (const bool back : {false, true}) {
      if (back && context.description().metric == Metric::bidirectional) continue;
      for (const Round& round : lane_rounds(pairs, groups.lane, back))
        measure_crossing_rates(context, groups, round, few);
    }
  }
  return 0;
}

}  // namespace linkmatrix
