#include "measure/matching_controls.hpp"

#include <algorithm>
#include <cmath>

#include "core/schedule.hpp"
#include "measure/calibration.hpp"
#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_controls_alone = 32;  // cells measured alone to determine the cost of full traffic …
constexpr std::size_t share_at_once = 16;        // … this factor fewer concurrently
constexpr double least_cost = 0.05;              // of full traffic, as a fraction
constexpr double sure = 0.001;                   // maximum probability that noise causes the cost

/// Returns the probability of at least so many heads in `all` tosses of a coin.
double by_coin(std::size_t all, std::size_t heads) {
  double term = 1, sum = 0, total = 0;
  for (std::size_t k = 0; k <= all; ++k) {
    total += term;
    if (k >= heads) sum += term;
    term *= static_cast<double>(all - k) / static_cast<double>(k + 1);
  }
  return sum / total;
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
  if (cost < least_cost || by_coin(costs.size(), slower) > sure) return std::nullopt;
  context.note("pairs are " + percent(cost) + " slower while all endpoints exchange data than alone (" +
               std::to_string(slower) + " of " + std::to_string(costs.size()) +
               "): they share a bottleneck, so no slow endpoint was searched for");
  return Matchings::SharedBottleneck{cost, slower, costs.size()};
}

}  // namespace linkmatrix
