#include "collective/collective_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "collective/expected.hpp"

namespace linkmatrix {
namespace {

constexpr double sample_seconds = 0.002;  // that ranks begin a µs or two apart is a thousandth of it
constexpr double burst_seconds = 0.25;    // between two looks at the clock
constexpr int least_in_a_row = 3;         // of 4 GiB of all-gather on two H200, a single one is 7 % slower than twenty
constexpr int most_repeats = 100;         // more would wait in a device's queue

/// Of collectives that take so long each: one that is as long as a sample is one.
Burst burst_of(double seconds) {
  const auto fit = [seconds](double time, int most) {
    return static_cast<int>(std::clamp<double>(std::ceil(time / std::max(seconds, 1e-9)), least_in_a_row, most));
  };
  if (seconds < sample_seconds) return {.samples = 1, .repeats = fit(sample_seconds, most_repeats)};
  return {.samples = fit(burst_seconds, Burst::most_samples), .repeats = 1};
}

/// Of what has run; of a time that is none nothing can be calculated.
CollectiveAnswer with_a_time(CollectiveAnswer answer) {
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  const bool has_times = !answer.seconds.empty() && std::ranges::all_of(answer.seconds, is_time);
  if (answer.status != CellStatus::ok || has_times) return answer;
  return {.status = CellStatus::error, .why = "the collective took no time that a clock could tell"};
}

/// Whether the answer is one; else the sampling has failed with it.
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
  for (const Place& place : round) {
    Sampled& answer = answers.emplace_back(sample_one(place, rule));
    const bool has_samples = answer.status == CellStatus::ok;
    if (has_samples && rule.verify) verify(place, rule, answer);
  }
  return answers;
}

std::vector<Path> CollectiveSampler::paths(const Place& place) const {
  const std::vector<std::string> ranks = collectives_.ranks();
  const CollectiveCase& wanted = cases_.at(place);
  if (wanted.what == Collective::send)
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

Sampled CollectiveSampler::sample_one(const Place& place, const SampleRule& rule) {
  const CollectiveCase& wanted = cases_.at(place);
  const auto began = Clock::now();
  const auto left = [&rule] { return std::max(rule.until.seconds_left(), 0.0); };
  Sampled sampled;
  if (!is_ok(collectives_.prepare(wanted, left()), sampled)) return sampled;
  const CollectiveAnswer warm = with_a_time(collectives_.run({.samples = 1, .repeats = warmup_}, left()));
  if (!is_ok(warm, sampled)) return sampled;
  if (!warm.choice.empty()) choices_[place] = warm.choice;
  Burst burst = burst_of(warm.seconds.front() / warmup_);
  const Layout layout = layout_of(wanted, static_cast<int>(collectives_.ranks().size()));
  sampled.bytes = static_cast<double>(layout.size_bytes) * layout.bus_factor;
  const auto most = static_cast<std::size_t>(rule.stop.max_samples);
  while (sampled.samples.empty() ||
         (!rule.stop.done(values_of(Metric::bandwidth, sampled), seconds_since(began)) && !rule.enough.passed())) {
    const CollectiveAnswer answer = with_a_time(collectives_.run(burst, left()));
    if (!is_ok(answer, sampled)) return sampled;
    // The first ones are slower than all others: what they said of the time was too much.
    const Burst better = burst_of(answer.seconds.back() / burst.repeats);
    if (sampled.samples.empty() && better.repeats >= 2 * burst.repeats) {
      burst = better;
      continue;
    }
    sampled.transfers = burst.repeats;
    const std::size_t count = std::min(answer.seconds.size(), most - sampled.samples.size());
    for (const double seconds : std::span(answer.seconds).last(count)) {
      Sample& sample = sampled.samples.emplace_back();
      sample.whole = sample.slowest = {0, seconds};
    }
  }
  return sampled;
}

void CollectiveSampler::verify(const Place& place, const SampleRule& rule, Sampled& sampled) {
  const CollectiveAnswer answer = collectives_.verify(std::max(rule.until.seconds_left(), 0.0));
  if (!is_ok(answer, sampled)) return;
  wrong_[place] += answer.wrong;
  sampled.verified = true;
  if (answer.wrong == 0) return;
  sampled.status = CellStatus::corrupt;
  sampled.why = std::to_string(answer.wrong) + " wrong elements arrived";
}

}  // namespace linkmatrix
