#include "device/repeats.hpp"

#include <algorithm>
#include <cmath>

namespace linkmatrix {
namespace {

constexpr double sample_seconds = 0.0025;  // a sample lasts at least this: events tick every 0.5 µs, 0.02 % of it
constexpr double looped_seconds = 0.008;   // of a kernel that repeats its copy: its launch and its end are 0.05 % of it
constexpr double max_repeats = 100;        // a gate must not hold more than 128 copies
constexpr double max_loaded_repeats = 16;  // background copies are repeated a few times as often
constexpr double even_enough = 0.04;       // below what a load may end early (least_loaded_share)
constexpr int most_of_slowest = 32;        // with so many, any ratio is met to a sixtieth …
constexpr int least_of_slowest = 6;        // … and with so few, to a twelfth
constexpr double balanced_seconds = 0.02;  // what a sample may last for that: a matrix of 7 samples a cell stays quick

}  // namespace

/// Copies of one cell start a few µs apart, which counts against their sum: both ways get twice the time.
int repeats_for(double seconds, std::span<const Copy> copies) {
  const double least = copies.front().looped ? looped_seconds : sample_seconds;
  const bool loaded = std::any_of(copies.begin(), copies.end(), [](const Copy& copy) { return copy.background; });
  const double wanted = least * (loaded ? 1 : static_cast<double>(copies.size()));
  return static_cast<int>(
      std::clamp(std::ceil(wanted / std::max(seconds, 1e-9)), 1.0, loaded ? max_loaded_repeats : max_repeats));
}

/// More repeats are worth their time only where they halve what is uneven.
std::vector<int> balanced_repeats(std::span<const double> seconds, int least) {
  const double slowest = *std::max_element(seconds.begin(), seconds.end());
  const int most = static_cast<int>(
      std::clamp(balanced_seconds / std::max(slowest, 1e-9), 1.0 * least_of_slowest, 1.0 * most_of_slowest));
  std::vector<int> best;
  double best_gap = 2;
  for (int n = least; n <= std::max(least, most) && best_gap > even_enough; ++n) {
    std::vector<int> repeats;
    double gap = 0;
    for (const double each : seconds) {
      const double share = slowest / std::max(each, 1e-9);
      repeats.push_back(static_cast<int>(std::clamp(std::round(n * share), 1.0, max_repeats)));
      gap = std::max(gap, std::abs(repeats.back() / (n * share) - 1));
    }
    if (2 * gap < best_gap) best = std::move(repeats), best_gap = gap;
  }
  return best;
}

double evenness(std::span<const Span> spans) {
  double shortest = spans.front().seconds(), longest = shortest;
  for (const Span& span : spans) {
    shortest = std::min(shortest, span.seconds());
    longest = std::max(longest, span.seconds());
  }
  return shortest / longest;
}

}  // namespace linkmatrix
