#include "ranks/clock_comparison.hpp"

#include <algorithm>
#include <sstream>

namespace linkmatrix::ranks {
namespace {

constexpr double least_seconds = 1e-9;  // of a clock that stands still

double ratio_of(double own, double around) { return own / std::max(around, least_seconds); }

}  // namespace

ClockComparison::Step ClockComparison::step_of(const PairTimes& pair) {
  const double slow_destination = ratio_of(pair.source.own, pair.destination.around);
  const double slow_source = ratio_of(pair.destination.own, pair.source.around);
  if (slow_destination > slow_source) return {slow_destination, pair.source.own, pair.destination.around};
  return {slow_source, pair.source.around, pair.destination.own};
}

void ClockComparison::add(std::span<const PairTimes> pairs) {
  steps_.resize(pairs.size());
  for (std::size_t k = 0; k < pairs.size(); ++k) steps_[k].push_back(step_of(pairs[k]));
}

std::string ClockComparison::disagreement(std::span<const RankPair> pairs) const {
  const auto less = [](const Step& a, const Step& b) { return a.ratio < b.ratio; };
  Step worst{1 + most_clock_disagreement, 0, 0};
  std::ostringstream text;
  text.precision(3);
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    std::vector<Step> steps = steps_[k];
    const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
    std::nth_element(steps.begin(), middle, steps.end(), less);
    if (middle->ratio <= worst.ratio) continue;
    worst = *middle;
    text.str("");
    text << "clocks disagree: rank" << pairs[k].source << " measured " << worst.source << " s, rank"
         << pairs[k].destination << ' ' << worst.destination << " s";
  }
  return text.str();
}

}  // namespace linkmatrix::ranks
