#include "device/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "measure/sampler.hpp"

namespace linkmatrix {
namespace {

// Minimum durations of a sample in seconds.
constexpr double sample_seconds = 0.0025;  // CUDA events have a resolution of 0.5 µs: 0.02 %
constexpr double turn_seconds = 0.0005;    // copies in turn: the host's clock has a resolution of 0.02 µs
constexpr double looped_seconds = 0.008;   // looped kernels: launch and end take 0.05 %
// Visibility tests: 7 samples of all 56 pairs of 8 GPUs, four pairs concurrently, take 0.7 s. On two H200 each pair
// makes ten thousand rounds of 5 µs in this time.
constexpr double handover_seconds = 0.007;
constexpr double max_repeats = 100;        // at most 128 copies fit into the queue behind a gate
constexpr double max_loaded_repeats = 16;  // smaller, because background copies need several times as many transfers
constexpr double even_enough = 0.04;       // smaller than the early end that a load may have (least_loaded_share)
constexpr int most_of_slowest = 32;        // maximum repeats of the slowest copy: ratios are met to 1/64
constexpr int least_of_slowest = 6;        // minimum repeats of the slowest copy: ratios are met to 1/12
constexpr double balanced_seconds = 0.02;  // maximum duration of a balanced sample
constexpr int most_balanced = 3;           // maximum number of adjustments
constexpr double least_turns = 5;          // minimum repeats of copies in turn: the first and last run alone
constexpr double longest_turns = 0.25;     // maximum seconds for least_turns

double per_transfer(const CopyTime& time) { return time.span.seconds() / std::max(time.transfers, 1.0); }

double slowest_transfer(std::span<const Copy> copies, const Timeline& timeline) {
  double slowest = 0;
  for (std::size_t c = 0; c < copies.size(); ++c)
    if (!copies[c].background) slowest = std::max(slowest, per_transfer(timeline.copies[c]));
  return slowest;
}

/// Adjusts the repeats to the speeds of the last concurrent run, up to three times.
void balance(Backend& backend, std::vector<Copy>& copies, const std::vector<std::vector<std::size_t>>& even,
             Timeline timeline, int least, Deadline until) {
  for (int attempt = 0; attempt < most_balanced; ++attempt) {
    bool is_plain = true;
    for (const std::vector<std::size_t>& set : even) {
      std::vector<double> seconds;
      for (const std::size_t c : set) seconds.push_back(per_transfer(timeline.copies[c]));
      const std::vector<int> repeats = balanced_repeats(seconds, least);
      for (std::size_t k = 0; k < set.size(); ++k) copies[set[k]].repeats = repeats[k];
      is_plain = is_plain && std::adjacent_find(repeats.begin(), repeats.end(), std::not_equal_to<>()) == repeats.end();
    }
    if (is_plain) return;
    timeline = backend.run(copies, until);
    const bool is_even = std::all_of(even.begin(), even.end(), [&](const std::vector<std::size_t>& set) {
      std::vector<Span> spans;
      for (const std::size_t c : set) spans.push_back(timeline.copies[c].span);
      return evenness(spans) >= least_loaded_share;
    });
    if (is_even) return;
  }
}

/// Returns the repeats of the slowest copy.
int least_repeats(std::span<const Copy> copies, std::span<const Copy> cell, const Timeline& timeline) {
  const double slowest = slowest_transfer(copies, timeline);
  const int least = repeats_for(slowest, cell, timeline.timing);
  if (timeline.timing != Timing::in_turn || cell.size() == 1) return least;
  return std::max(least, static_cast<int>(std::clamp(longest_turns / slowest, 1.0, least_turns)));
}

void set_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                 const std::vector<std::vector<std::size_t>>& even, Timeline timeline, Deadline until) {
  const int least = least_repeats(copies, cell, timeline);
  const bool in_turn = timeline.timing == Timing::in_turn;
  for (Copy& copy : copies) copy.repeats = least;
  if (!in_turn) balance(backend, copies, even, std::move(timeline), least, until);  // copies in turn have equal times
}

}  // namespace

/// Cells of several copies get twice the time, because their copies start a few µs apart.
int repeats_for(double seconds, std::span<const Copy> copies, Timing timing) {
  const bool is_litmus = copies.front().operation == Operation::visibility;
  const double least = is_litmus                   ? handover_seconds / accesses_per_repeat
                       : timing == Timing::in_turn ? turn_seconds
                       : copies.front().looped     ? looped_seconds
                                                   : sample_seconds;
  const bool loaded = std::any_of(copies.begin(), copies.end(), [](const Copy& copy) { return copy.background; });
  const double wanted = least * (loaded ? 1 : static_cast<double>(copies.size()));
  return static_cast<int>(
      std::clamp(std::ceil(wanted / std::max(seconds, 1e-9)), 1.0, loaded ? max_loaded_repeats : max_repeats));
}

/// Uses more repeats of the slowest copy only if they halve the unevenness.
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

Timeline find_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, int warmup, Deadline until) {
  for (Copy& copy : copies) copy.repeats = warmup;
  Timeline timeline = backend.run(copies, until);
  set_repeats(backend, copies, cell, even, timeline, until);
  return timeline;
}

Timeline find_repeats_for(Backend& backend, std::vector<Copy>& copies, int transfers, Deadline until) {
  for (Copy& copy : copies) copy.repeats = 1;
  Timeline timeline = backend.run(copies, until);
  const bool loaded = std::ranges::any_of(copies, &Copy::background);
  for (std::size_t c = 0; c < copies.size(); ++c)
    copies[c].repeats = static_cast<int>(std::clamp(std::round(transfers / std::max(timeline.copies[c].transfers, 1.0)),
                                                    1.0, loaded ? max_loaded_repeats : max_repeats));
  return timeline;
}

bool lengthen_repeats(Backend& backend, std::vector<Copy>& copies, std::span<const Copy> cell,
                      const std::vector<std::vector<std::size_t>>& even, const Timeline& timeline, Deadline until) {
  int fewest = std::numeric_limits<int>::max();
  for (const Copy& copy : copies)
    if (!copy.background) fewest = std::min(fewest, copy.repeats);
  if (least_repeats(copies, cell, timeline) < 2 * fewest) return false;
  set_repeats(backend, copies, cell, even, timeline, until);
  return true;
}

}  // namespace linkmatrix
