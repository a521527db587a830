#include "nbody/nbody_sampler.hpp"

#include <algorithm>
#include <cmath>

namespace linkmatrix {
namespace {

constexpr double sample_seconds = 0.02;  // minimum; devices start some µs apart, a thousandth of it
constexpr double most_steps = 1000;      // more would block in a device's queue
constexpr double long_step = 1;          // a first step of this many seconds needs no warm-up; loading kernels takes ms

int steps_for(double seconds) {
  return static_cast<int>(std::clamp(std::ceil(sample_seconds / std::max(seconds, 1e-9)), 1.0, most_steps));
}

/// Returns whether the answer is valid. Otherwise copies its status and reason to `sampled`.
bool is_ok(const NbodyAnswer& answer, Sampled& sampled) {
  if (answer.status == CellStatus::ok) return true;
  if (answer.status != CellStatus::corrupt) sampled = {};
  sampled.status = answer.status;
  sampled.why = answer.why;
  return false;
}

void add(Sampled& sampled, double seconds) {
  Sample& sample = sampled.samples.emplace_back();
  sample.whole = sample.slowest = {0, seconds};
}

}  // namespace

std::vector<Sampled> NbodySampler::sample(const Round& round, const SampleRule& rule) {
  std::vector<Sampled> answers;
  for (const CellIndex& cell : round) {
    const NbodyCase& wanted = cases_.at(cell);
    Sampled& answer = answers.emplace_back(sample_one(wanted, rule));
    if (answer.status != CellStatus::ok || !rule.verify) continue;
    const NbodyAnswer verdict = system_.verify(wanted, std::max(rule.until.seconds_left(), 0.0));
    answer.verified = verdict.status == CellStatus::ok || verdict.status == CellStatus::corrupt;
    is_ok(verdict, answer);
  }
  return answers;
}

std::vector<Path> NbodySampler::paths(const CellIndex& cell) const {
  const std::vector<std::string> devices = system_.devices();
  const auto count = static_cast<std::size_t>(cases_.at(cell).devices);
  std::vector<Path> paths;
  for (std::size_t d = 0; d < count; ++d) paths.push_back({devices.at(d), devices.at((d + 1) % count)});
  return paths;
}

Sampled NbodySampler::sample_one(const NbodyCase& wanted, const SampleRule& rule) {
  const auto began = Clock::now();
  const auto left = [&rule] { return std::max(rule.until.seconds_left(), 0.0); };
  Sampled sampled;
  if (!is_ok(system_.prepare(wanted, left()), sampled)) return sampled;
  const NbodyAnswer warm = system_.run(1, left());
  if (!is_ok(warm, sampled)) return sampled;
  int steps = steps_ > 0 ? steps_ : steps_for(warm.seconds);
  sampled.bytes = flop_of_step(wanted);  // operations instead of bytes, for Metric::compute
  if (warm.seconds >= long_step && steps == 1) add(sampled, warm.seconds);
  sampled.transfers = steps;
  while (sampled.samples.empty() ||
         (!rule.stop.done(values_of(Metric::compute, sampled), seconds_since(began)) && !rule.enough.passed())) {
    const NbodyAnswer answer = system_.run(steps, left());
    if (!is_ok(answer, sampled)) return sampled;
    // The first step is slower, so measure again with its estimate.
    if (const int more = steps_for(answer.seconds / steps);
        steps_ == 0 && sampled.samples.empty() && more >= 2 * steps) {
      sampled.transfers = steps = more;
      continue;
    }
    add(sampled, answer.seconds);
  }
  return sampled;
}

}  // namespace linkmatrix
