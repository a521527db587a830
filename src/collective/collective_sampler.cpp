#include "collective/collective_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "collective/expected.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr double sample_seconds = 0.002;  // minimum; ranks start up to 2 µs apart, a thousandth of it
constexpr double burst_seconds = 0.25;    // maximum between two polls of the deadline
constexpr int least_in_a_row = 3;         // on two H200, one all-gather of 4 GiB takes 7 % longer than each of twenty
constexpr int most_repeats = 100;         // more would block in a device's queue

constexpr std::uint64_t most_every = 64;
constexpr double share_for_comparing = 0.05;  // fraction of a sample's time
// Bytes per rank: seven windows of the largest default size.
constexpr std::uint64_t most_window_bytes = 7 * GiB, most_host_window_bytes = 112 * MiB;

/// Returns the burst for collectives of `seconds` each. With comparison, a burst has at most `windows` samples.
Burst burst_of(double seconds, int windows) {
  const auto fit = [seconds](double time, int most) {
    return static_cast<int>(std::clamp<double>(std::ceil(time / std::max(seconds, 1e-9)), least_in_a_row, most));
  };
  if (seconds < sample_seconds) return {.samples = 1, .repeats = fit(sample_seconds, most_repeats)};
  if (windows > 0 && windows < least_in_a_row) return {.samples = 1, .repeats = least_in_a_row};
  return {.samples = fit(burst_seconds, windows > 0 ? windows : Burst::most_samples), .repeats = 1};
}

/// Replaces an answer with a time of zero by an error.
CollectiveAnswer with_a_time(CollectiveAnswer answer) {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  const bool has_times = !answer.seconds.empty() && std::ranges::all_of(answer.seconds, is_time);
  if (answer.status != CellStatus::ok || has_times) return answer;
  return {.status = CellStatus::error, .why = "the collective took less time than the clock can measure"};
}

/// Returns whether the answer is valid. Otherwise copies its status and reason to `sampled`.
bool is_ok(const CollectiveAnswer& answer, Sampled& sampled) {
  if (answer.status == CellStatus::ok) return true;
  sampled = {};
  sampled.status = answer.status;
  sampled.why = answer.why;
  return false;
}

}  // namespace

std::vector<Sampled> CollectiveSampler::sample(const Round& round, const SampleRule& rule) {
  std::vector<Sampled> answers;
  for (const CellIndex& cell : round) {
    Sampled& answer = answers.emplace_back(sample_one(cell, rule));
    if (answer.coverage.wrong_samples > 0) answer.why = wrong_samples_text(answer.coverage) + answer.why;
  }
  return answers;
}

std::vector<Path> CollectiveSampler::paths(const CellIndex& cell) const {
  const std::vector<std::string> ranks = collectives_.ranks();
  const CollectiveCase& wanted = cases_.at(cell);
  if (wanted.collective == Collective::send)
    return {
        {ranks.at(static_cast<std::size_t>(wanted.source)), ranks.at(static_cast<std::size_t>(wanted.destination))}};
  std::vector<std::string> taking_part;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (takes_part(wanted, static_cast<int>(r))) taking_part.push_back(ranks[r]);
  std::vector<Path> paths;
  for (std::size_t r = 0; r < taking_part.size(); ++r)
    paths.push_back({taking_part[r], taking_part[(r + 1) % taking_part.size()]});
  return paths;
}

Sampled CollectiveSampler::sample_one(const CellIndex& cell, const SampleRule& rule) {
  CollectiveCase wanted = cases_.at(cell);
  if (rule.verify) wanted.windows = windows_of(wanted);
  const auto began = Clock::now();
  const auto left = [&rule] { return std::max(rule.until.seconds_left(), 0.0); };
  Sampled sampled;
  if (!is_ok(collectives_.prepare(wanted, left()), sampled)) return sampled;
  const CollectiveAnswer warm = with_a_time(collectives_.run({.samples = 1, .repeats = warmup_}, left()));
  if (!is_ok(warm, sampled)) return sampled;
  if (!warm.choice.empty()) choices_[cell] = warm.choice;
  Burst burst = burst_of(warm.seconds.front() / warmup_, wanted.windows);
  const Layout layout = layout_of(wanted, static_cast<int>(collectives_.ranks().size()));
  sampled.bytes = static_cast<double>(layout.size_bytes) * layout.bus_factor;
  const auto most = static_cast<std::size_t>(rule.stop.max_samples);
  std::uint64_t bursts = 0;
  while (sampled.samples.empty() ||
         (!rule.stop.done(values_of(Metric::bandwidth, sampled), seconds_since(began)) && !rule.enough.passed())) {
    burst.compares = rule.verify;
    burst.blocks.first = bursts++ % burst.blocks.every;
    if (rule.verify) set_wrong(cell, burst);
    const CollectiveAnswer answer = with_a_time(collectives_.run(burst, left()));
    if (!is_ok(answer, sampled)) return sampled;
    if (rule.verify) account(cell, burst, answer, sampled);
    // The first collectives are slower, so measure again with their estimate.
    const Burst better = burst_of(answer.seconds.back() / burst.repeats, wanted.windows);
    if (sampled.samples.empty() && better.repeats >= 2 * burst.repeats) {
      burst = better;
      continue;
    }
    if (sampled.samples.empty() && rule.verify) burst.blocks.every = every_for(wanted, answer);
    sampled.transfers = burst.repeats;
    const std::size_t count = std::min(answer.seconds.size(), most - sampled.samples.size());
    for (const double seconds : std::span(answer.seconds).last(count)) {
      Sample& sample = sampled.samples.emplace_back();
      sample.whole = sample.slowest = {0, seconds};
    }
  }
  return sampled;
}

/// Adds the compared data and wrong elements of a burst, including warm-ups.
void CollectiveSampler::account(const CellIndex& cell, const Burst& burst, const CollectiveAnswer& answer,
                                Sampled& sampled) {
  sampled.verified = true;
  wrong_[cell] += 0;
  for (const std::uint64_t wrong : answer.wrong) {
    sampled.coverage += {.transfers = static_cast<std::uint64_t>(burst.repeats),
                         .compared_transfers = 1,
                         .compared_share = 1.0 / static_cast<double>(burst.blocks.every),
                         .samples = 1,
                         .wrong_samples = wrong > 0 ? 1u : 0u};
    wrong_[cell] += wrong;
  }
  if (sampled.coverage.wrong_samples == 0) return;
  sampled.status = CellStatus::corrupt;
  sampled.why = std::to_string(wrong_[cell]) + " wrong elements arrived";
}

/// Returns the number of windows: one per sample of a burst, fewer if memory is short, at least one.
int CollectiveSampler::windows_of(const CollectiveCase& wanted) const {
  const std::uint64_t most = collectives_.memory() == Memory::device ? most_window_bytes : most_host_window_bytes;
  const std::uint64_t each = std::max<std::uint64_t>(wanted.bytes, 1);
  return static_cast<int>(std::clamp<std::uint64_t>(most / each, 1, Burst::most_samples));
}

/// Returns n, so that comparing every n-th block takes at most share_for_comparing of a burst.
std::uint64_t CollectiveSampler::every_for(const CollectiveCase& wanted, const CollectiveAnswer& answer) const {
  const double running = std::accumulate(answer.seconds.begin(), answer.seconds.end(), 0.0);
  const double every = std::round(answer.comparing / (share_for_comparing * running));
  const Layout layout = layout_of(wanted, static_cast<int>(collectives_.ranks().size()));
  const std::uint64_t elements = layout.part > 0 ? layout.part : layout.elements();
  const std::uint64_t most = std::clamp<std::uint64_t>(elements / ElementBlocks::elements, 1, most_every);
  return static_cast<std::uint64_t>(std::clamp(every, 1.0, static_cast<double>(most)));
}

/// Returns the rank whose data the simulated fault corrupts: the rank of the fault; if it receives nothing, another
/// receiving rank. Nothing without a fault.
std::optional<int> CollectiveSampler::wrong_rank(const CellIndex& cell) const {
  if (!simulated_fault_) return std::nullopt;
  const CollectiveCase& wanted = cases_.at(cell);
  const std::vector<std::string> ranks = collectives_.ranks();
  const Layout layout = layout_of(wanted, static_cast<int>(ranks.size()));
  for (const Path& path : paths(cell)) {
    if (!simulated_fault_->affects(path)) continue;
    const auto rank = static_cast<int>(std::ranges::find(ranks, path.destination) - ranks.begin());
    if (received_elements(wanted, layout, rank) > 0) return rank;
    return wanted.collective == Collective::send ? wanted.destination : wanted.root;
  }
  return std::nullopt;
}

void CollectiveSampler::set_wrong(const CellIndex& cell, Burst& burst) {
  const auto rank = wrong_rank(cell);
  if (!rank) return;
  burst.wrong = 0;
  burst.wrong_rank = *rank;
  for (int sample = 0; sample < burst.samples; ++sample)
    if (++fault_counts_[cell] % simulated_fault_->every == 0) burst.wrong |= 1U << sample;
}

}  // namespace linkmatrix
