#include "measure/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "core/run_times.hpp"
#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_cells_alone = 4;
constexpr std::size_t rounds_considered = 8;  // the fullest of these rounds is calibrated
constexpr std::size_t everything = static_cast<std::size_t>(-1);

std::size_t fullest(const Rounds& rounds) {
  std::size_t full = 0, most = 0;
  for (std::size_t r = 0; r < std::min(rounds.count(), rounds_considered); ++r)
    if (const std::size_t cells = rounds.at(r).size(); cells > most) full = r, most = cells;
  return full;
}

}  // namespace

std::size_t Calibration::concurrent_cells() {
  const InPhase phase(RunPhase::calibration);
  if (context_.options().concurrency == Concurrency::rounds) return everything;
  if (context_.options().concurrency == Concurrency::serial || rounds_.count() == 0) return 1;
  const std::size_t number = fullest(rounds_);
  const Round full = rounds_.at(number);
  for (std::size_t at_once = full.size(); at_once > 1; at_once /= 2) {
    const ConcurrencyEffect worst =
        largest_effect(Round(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(at_once)));
    if (!worst.is_known) return everything;  // a cell failed; its round will report the failure
    if (!worst.exceeds_limit()) {
      const bool is_whole = at_once == full.size();
      if (is_whole) calibrated_ = number;
      report(worst.change, is_whole ? "" : "at most " + std::to_string(at_once) + " pairs were measured concurrently");
      return is_whole ? everything : at_once;
    }
    disturbance_ = std::max(disturbance_, worst.change);
    if (context_.description().rows.size() > most_serial) {
      report(worst.change, "the matrix is too large to measure the pairs one by one");
      return everything;
    }
  }
  if (disturbance_ > 0) report(0, "the pairs were measured one by one");
  return 1;
}

void Calibration::report(double interference, const std::string& note) {
  if (!is_reported_) return;
  context_.record_interference(interference);
  if (!note.empty())
    context_.note("concurrent pairs change the value of a pair by " + percent(disturbance_) + ": " + note);
}

/// Returns the effect on the cell that exceeds its limit most.
ConcurrencyEffect Calibration::largest_effect(const Round& round) {
  const ConcurrencyEffect brief = measure_effect(round, 1, false);
  return brief.is_known && brief.exceeds_limit() ? measure_effect(round, thorough_samples, true) : brief;
}

/// twice_alone: measures the cells alone before and after the round, to exclude changes over time.
ConcurrencyEffect Calibration::measure_effect(const Round& round, int samples, bool twice_alone) {
  const Sensitivity sensitivity = context_.sampler().sensitivity();
  const std::size_t n = std::min(most_cells_alone, round.size());
  std::vector<std::vector<double>> alone(n);
  bool failed = false;
  const auto sample_values = [&](const Round& cells) {
    std::vector<std::vector<double>> values;
    const auto answers = context_.sample(cells, {.stop = fixed_sample_count(samples)});
    failed = failed || !all_ok(answers);
    for (const Sampled& sampled : answers) values.push_back(values_of(context_.description().metric, sampled));
    return values;
  };
  const auto measure_alone = [&] {
    for (std::size_t k = 0; k < n && !failed; ++k) {
      const auto values = sample_values({round[k]});
      alone[k].insert(alone[k].end(), values.front().begin(), values.front().end());
    }
  };
  measure_alone();
  const auto concurrent = failed ? std::vector<std::vector<double>>() : sample_values(round);
  if (twice_alone) measure_alone();
  ConcurrencyEffect worst{0, sensitivity.least};
  for (std::size_t k = 0; k < n && !failed; ++k)
    if (const ConcurrencyEffect here = concurrency_effect(sensitivity, alone[k], concurrent[k]);
        here.change / here.limit > worst.change / worst.limit)
      worst = here;
  worst.is_known = !failed;
  return worst;
}

ConcurrencyEffect concurrency_effect(const Sensitivity& sensitivity, const std::vector<double>& alone,
                                     const std::vector<double>& concurrent) {
  const double reference = median(alone), sigma = std::max(robust_sigma(alone), robust_sigma(concurrent));
  return {std::abs(median(concurrent) / reference - 1),
          std::clamp(3 * sigma / reference, sensitivity.least, sensitivity.most)};
}

StopRule fixed_sample_count(int samples) { return {.min_samples = samples, .max_samples = samples}; }

bool all_ok(const std::vector<Sampled>& answers) {
  return std::all_of(answers.begin(), answers.end(), [](const Sampled& s) { return s.status == CellStatus::ok; });
}

}  // namespace linkmatrix
