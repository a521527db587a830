#include "core/clock.hpp"

#include <algorithm>
#include <cstring>

namespace linkmatrix {
namespace {

constexpr double latest_start = 0.05;  // fraction of the shortest span; lowers a sum by at most half of this fraction

}  // namespace

std::string stop_reason() {
  const int signal = stop_signal;
  return signal == 0 ? "" : std::string("ended by signal ") + ::strsignal(signal);
}

Span hull(std::span<const Span> spans) {
  Span whole = spans.front();
  for (const Span& span : spans) whole = {std::min(whole.start, span.start), std::max(whole.end, span.end)};
  return whole;
}

bool started_together(std::span<const Span> spans) {
  if (spans.empty()) return true;
  double first = spans.front().start, last = first, shortest = spans.front().seconds();
  for (const Span& span : spans) {
    first = std::min(first, span.start);
    last = std::max(last, span.start);
    shortest = std::min(shortest, span.seconds());
  }
  return last - first <= latest_start * shortest;
}

}  // namespace linkmatrix
