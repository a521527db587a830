#include "ranks/pair_sample.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "core/clock.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double least_window = 1e-3;  // seconds; longer windows distinguish the two directions

bool is_known(const Span& span) { return span.end > span.start; }

/// Spans of the sources and of the destinations of a cell. Each of the two groups is on one node and has one clock.
struct OfBothEnds {
  std::vector<Span> sources, destinations;

  void add(const PairTimes& pair, Span StepTimes::*what) {
    if (is_known(pair.source.*what)) sources.push_back(pair.source.*what);
    if (is_known(pair.destination.*what)) destinations.push_back(pair.destination.*what);
  }

  /// Returns spans on a common clock; between nodes, as durations after a common start.
  Span whole(bool same_node) const {
    std::vector<Span> all = sources;
    if (same_node) {
      all.insert(all.end(), destinations.begin(), destinations.end());
      return all.empty() ? Span{} : hull(all);
    }
    all.clear();
    for (const auto* end : {&sources, &destinations})
      if (!end->empty()) all.push_back({0, hull(*end).seconds()});
    return all.empty() ? Span{} : hull(all);
  }

  Span slowest() const {
    std::vector<Span> all = sources;
    all.insert(all.end(), destinations.begin(), destinations.end());
    return *std::max_element(all.begin(), all.end(),
                             [](const Span& a, const Span& b) { return a.seconds() < b.seconds(); });
  }
};

Sample latency_of(std::span<const PairTimes> pairs) {
  double sum = 0;
  for (const PairTimes& pair : pairs) sum += pair.source.whole.seconds();
  const double start = pairs.front().source.whole.start;
  Sample sample;
  sample.whole = {start, start + sum / static_cast<double>(pairs.size())};
  return sample;
}

/// Returns the spans of one direction, as measured by its senders, else by its receivers.
Span direction_span(const Order& order, std::span<const PairTimes> pairs, bool back) {
  std::vector<Span> sent, received;
  for (const PairTimes& pair : pairs) {
    const StepTimes &from = back ? pair.destination : pair.source, &to = back ? pair.source : pair.destination;
    if (is_known(from.sent)) sent.push_back(from.sent);
    if (is_known(to.received)) received.push_back(to.received);
  }
  const std::vector<Span>& known = sent.empty() ? received : sent;
  if (known.empty()) return {};
  const Span all = hull(known);
  return order.same_node ? all : Span{0, all.seconds()};
}

constexpr double least_seconds = 1e-9;  // for a clock that does not advance

double ratio_of(double own, double around) { return own / std::max(around, least_seconds); }

}  // namespace

double bytes_of(const Order& order) {
  if (order.metric == Metric::latency) return 0;
  const double directions = order.metric == Metric::bidirectional ? 2 : 1;
  return directions * static_cast<double>(order.bytes) * order.pairs;
}

double transfers_of(const Order& order, const Step& step) {
  const bool there_and_back = order.metric == Metric::latency && !order.one_sided;
  return (there_and_back ? 2.0 : 1.0) * step.messages * step.repeats;
}

PairSample sample_of(const Order& order, const Step& step, std::span<const PairTimes> pairs) {
  if (order.metric == Metric::latency) return {latency_of(pairs)};
  PairSample out;
  OfBothEnds parts;
  for (const PairTimes& pair : pairs) parts.add(pair, &StepTimes::whole);
  if (parts.sources.empty() && parts.destinations.empty()) return out;
  out.sample.whole = parts.whole(order.same_node);
  out.sample.slowest = parts.slowest();
  out.sample.enqueue_seconds = pairs.front().source.enqueue_seconds;
  out.started_together = started_together(parts.sources) && started_together(parts.destinations);
  if (order.metric != Metric::bidirectional) return out;
  out.sample.directions = {direction_span(order, pairs, false), direction_span(order, pairs, true)};
  if (is_known(pairs.front().source.sent)) {
    out.started_together = out.started_together && started_together(out.sample.directions);
  } else if (out.sample.whole.seconds() < least_window * step.repeats) {
    // ranks start a few µs apart, which hides the difference of the directions in short windows
    out.sample.directions = {out.sample.whole, out.sample.whole};
  }
  return out;
}

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
