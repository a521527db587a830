#include "ranks/pair_sample.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "core/timeline.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr double least_window = 1e-3;  // seconds, from which on a window tells its two directions apart

bool is_known(const Span& span) { return span.end > span.start; }

/// On the common clock, or as a duration after a common start.
Span placed(const Order& order, const Span& span) { return order.same_node ? span : Span{0, span.seconds()}; }

Span hull_or_nothing(const std::vector<Span>& spans) { return spans.empty() ? Span{} : hull(spans); }

Sample latency_of(std::span<const PairTimes> pairs) {
  double sum = 0;
  for (const PairTimes& pair : pairs) sum += pair.source.whole.seconds();
  const double start = pairs.front().source.whole.start;
  Sample sample;
  sample.whole = {start, start + sum / static_cast<double>(pairs.size())};
  return sample;
}

/// All that goes one way: as its sender knows it, else as its receiver does.
Span way(const Order& order, std::span<const PairTimes> pairs, bool back) {
  std::vector<Span> spans;
  for (const PairTimes& pair : pairs) {
    const StepTimes &from = back ? pair.destination : pair.source, &to = back ? pair.source : pair.destination;
    for (const Span& span : {from.sent, to.received})
      if (is_known(span)) {
        spans.push_back(placed(order, span));
        break;
      }
  }
  return hull_or_nothing(spans);
}

}  // namespace

double bytes_of(const Order& order) {
  if (order.metric == Metric::latency) return 0;
  const double ways = order.metric == Metric::bidirectional ? 2 : 1;
  return ways * static_cast<double>(order.bytes) * order.pairs;
}

double transfers_of(const Order& order, const Step& step) {
  const bool there_and_back = order.metric == Metric::latency && !order.one_sided;
  return (there_and_back ? 2.0 : 1.0) * step.messages * step.repeats;
}

PairSample sample_of(const Order& order, const Step& step, std::span<const PairTimes> pairs) {
  if (order.metric == Metric::latency) return {latency_of(pairs)};
  PairSample out;
  std::vector<Span> parts;
  for (const PairTimes& pair : pairs)
    for (const StepTimes& rank : {pair.source, pair.destination})
      if (is_known(rank.whole)) parts.push_back(placed(order, rank.whole));
  if (parts.empty()) return out;
  out.sample.whole = hull_or_nothing(parts);
  out.sample.slowest = *std::max_element(parts.begin(), parts.end(),
                                         [](const Span& a, const Span& b) { return a.seconds() < b.seconds(); });
  out.sample.enqueue_seconds = pairs.front().source.enqueue_seconds;
  if (order.metric != Metric::bidirectional) return out;
  out.sample.ways = {way(order, pairs, false), way(order, pairs, true)};
  if (is_known(pairs.front().source.sent)) {
    out.started_together = started_together(out.sample.ways);
  } else if (out.sample.whole.seconds() < least_window * step.repeats) {
    // both ends begin a few µs apart, which says nothing of the directions where a window is as short
    out.sample.ways = {out.sample.whole, out.sample.whole};
  }
  return out;
}

}  // namespace linkmatrix::ranks
