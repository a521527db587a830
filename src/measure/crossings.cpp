#include "measure/crossings.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "measure/calibration.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t of_all = 3, of_few = 2;  // matchings
constexpr std::size_t few_pairs = 4;           // of two groups: no more than a quarter of what usual uplinks carry

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

std::vector<Round> in_lanes(const std::vector<MatchingGenerator::Pair>& pairs, const std::vector<std::size_t>& lanes,
                            bool back) {
  std::vector<Round> rounds(1 + *std::max_element(lanes.begin(), lanes.end()));
  for (const auto& [a, b] : pairs) rounds[lanes[a]].push_back(back ? Place{b, a} : Place{a, b});
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

std::size_t measure_crossings(Context& context, MatchingGenerator& generator, const Places& places,
                              const std::vector<bool>& out) {
  for (std::size_t k = 0; k < of_all + of_few; ++k) {
    if (context.out_of_time()) return of_all + of_few - k;
    const bool few = k >= of_all;
    const auto pairs = generator.across(out, few ? few_pairs : out.size());
    for (const bool back : {false, true}) {
      if (back && context.shape().metric == Metric::bidirectional) continue;
      for (const Round& round : in_lanes(pairs, places.lane, back)) note_crossings(context, places, round, few);
    }
  }
  return 0;
}

}  // namespace linkmatrix
