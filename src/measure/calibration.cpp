#include "measure/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "core/run_times.hpp"
#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_cells_alone = 4;
constexpr std::size_t rounds_considered = 8;  // for the fullest one
constexpr std::size_t everything = static_cast<std::size_t>(-1);

std::size_t fullest(const Rounds& rounds) {
  std::size_t full = 0, most = 0;
  for (std::size_t r = 0; r < std::min(rounds.count(), rounds_considered); ++r)
    if (const std::size_t cells = rounds.at(r).size(); cells > most) full = r, most = cells;
  return full;
}

}  // namespace

std::size_t Calibration::cells_at_once() {
  const InPhase phase(RunPhase::calibration);
  if (context_.options().concurrency == Concurrency::rounds) return everything;
  if (context_.options().concurrency == Concurrency::serial || rounds_.count() == 0) return 1;
  const std::size_t number = fullest(rounds_);
  const Round full = rounds_.at(number);
  for (std::size_t at_once = full.size(); at_once > 1; at_once /= 2) {
    const Moved worst = worst_of(Round(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(at_once)));
    if (!worst.is_known) return everything;  // a cell failed; its round will report the failure
    if (!worst.too_far()) {
      const bool is_whole = at_once == full.size();
      if (is_whole) calibrated_ = number;
      report(worst.by, is_whole ? "" : "at most " + std::to_string(at_once) + " were measured concurrently");
      return is_whole ? everything : at_once;
    }
    disturbance_ = std::max(disturbance_, worst.by);
    if (context_.shape().rows.size() > most_serial) {
      report(worst.by, "the matrix is too large to measure them one by one");
      return everything;
    }
  }
  if (disturbance_ > 0) report(0, "they were measured one by one");
  return 1;
}

void Calibration::report(double let_pass, const std::string& note) {
  if (!is_reported_) return;
  context_.let_pass(let_pass);
  if (!note.empty())
    context_.note("concurrent pairs change the value of a pair by " + percent(disturbance_) + ": " + note);
}

/// Returns the cell that exceeds its limit most when the whole round runs.
Moved Calibration::worst_of(const Round& together) {
  const Moved brief = look(together, 1, false);
  return brief.is_known && brief.too_far() ? look(together, thorough_samples, true) : brief;
}

/// again: measures the cells alone a second time afterwards, to exclude changes over time.
Moved Calibration::look(const Round& together, int samples, bool again) {
  const Sensitivity sensitivity = context_.sampler().sensitivity();
  const std::size_t n = std::min(most_cells_alone, together.size());
  std::vector<std::vector<double>> alone(n);
  bool failed = false;
  const auto values_of_round = [&](const Round& round) {
    std::vector<std::vector<double>> values;
    const auto answers = context_.sample(round, {.stop = exactly(samples)});
    failed = failed || !all_ok(answers);
    for (const Sampled& sampled : answers) values.push_back(values_of(context_.shape().metric, sampled));
    return values;
  };
  const auto measure_alone = [&] {
    for (std::size_t k = 0; k < n && !failed; ++k) {
      const auto values = values_of_round({together[k]});
      alone[k].insert(alone[k].end(), values.front().begin(), values.front().end());
    }
  };
  measure_alone();
  const auto at_once = failed ? std::vector<std::vector<double>>() : values_of_round(together);
  if (again) measure_alone();
  Moved worst{0, sensitivity.least};
  for (std::size_t k = 0; k < n && !failed; ++k)
    if (const Moved here = moved(sensitivity, alone[k], at_once[k]); here.by / here.limit > worst.by / worst.limit)
      worst = here;
  worst.is_known = !failed;
  return worst;
}

Moved moved(const Sensitivity& sensitivity, const std::vector<double>& alone, const std::vector<double>& together) {
  const double reference = median(alone), sigma = std::max(robust_sigma(alone), robust_sigma(together));
  return {std::abs(median(together) / reference - 1),
          std::clamp(3 * sigma / reference, sensitivity.least, sensitivity.most)};
}

StopRule exactly(int samples) { return {.min_samples = samples, .max_samples = samples}; }

bool all_ok(const std::vector<Sampled>& answers) {
  return std::all_of(answers.begin(), answers.end(), [](const Sampled& s) { return s.status == CellStatus::ok; });
}

}  // namespace linkmatrix
