#include "measure/control_measurements.hpp"

#include <algorithm>

#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr double most_share = 0.05;        // control samples per sample of the rounds
constexpr std::size_t most_of_large = 64;  // control measurements of a matrix with more than most_serial endpoints

}  // namespace

void ControlMeasurements::add(std::size_t number, const Round& cells, const std::vector<Sampled>& answers) {
  if (context_.options().concurrency != Concurrency::automatic) return;
  Part part{number, cells, {}};
  std::size_t good = 0, samples = 0;
  for (const Sampled& answer : answers) {
    const bool is_good = answer.status == CellStatus::ok && !answer.samples.empty();
    part.values.push_back(is_good ? values_of(context_.description().metric, answer) : std::vector<double>());
    good += is_good ? 1 : 0;
    samples = std::max(samples, answer.samples.size());
  }
  round_samples_ += samples;
  if (context_.description().rows.size() > most_serial) {
    const double share = std::min(static_cast<double>(most_of_large) / static_cast<double>(rounds_.count()),
                                  most_share * context_.options().stop.min_samples);
    if (good < 2 || !std::bernoulli_distribution(share)(random_)) return;
    values_.clear();  // compare only with cells of this round
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (!part.values[k].empty()) values_[cells[k]] = median(part.values[k]);
    if (const auto worst = largest_deviation(part, class_medians())) has_interference(part, worst->cell);
    return;
  }
  for (std::size_t k = 0; k < cells.size(); ++k)
    if (!part.values[k].empty()) values_[cells[k]] = median(part.values[k]);
  if (good < 2) return;
  if (number == excluded_round_ && cells.size() == rounds_.at(number).size()) return accept(0);
  unchecked_.push_back(std::move(part));
}

std::optional<ControlMeasurements::Part> ControlMeasurements::next_disturbed() {
  const auto medians = class_medians();
  while (!unchecked_.empty() && !context_.out_of_time() && has_sample_budget()) {
    std::optional<Deviation> worst;
    for (std::size_t p = 0; p < unchecked_.size(); ++p)
      if (auto here = largest_deviation(unchecked_[p], medians); here && (!worst || here->worse > worst->worse))
        worst = Deviation{here->worse, p, here->cell};
    if (!worst) break;
    const Part part = std::move(unchecked_[worst->part]);
    unchecked_.erase(unchecked_.begin() + static_cast<std::ptrdiff_t>(worst->part));
    if (has_interference(part, worst->cell)) return part;
  }
  return std::nullopt;
}

/// Returns the cell of a part that is worst compared with its link class.
std::optional<ControlMeasurements::Deviation> ControlMeasurements::largest_deviation(
    const Part& part, const std::map<std::string_view, double>& medians) const {
  std::optional<Deviation> worst;
  for (std::size_t k = 0; k < part.cells.size(); ++k) {
    if (part.values[k].empty() || !context_.sampler().is_available(part.cells[k])) continue;
    const double expected = medians.at(context_.link_class(part.cells[k]));
    const double worse = worse_by(context_.description().metric, expected, values_.at(part.cells[k]));
    if (!worst || worse > worst->worse) worst = Deviation{worse, 0, k};
  }
  return worst;
}

std::map<std::string_view, double> ControlMeasurements::class_medians() const {
  std::map<std::string_view, std::vector<double>> classes;
  for (const auto& [place, value] : values_) classes[context_.link_class(place)].push_back(value);
  std::map<std::string_view, double> medians;
  for (auto& [link_class, values] : classes) medians[link_class] = median(std::move(values));
  return medians;
}

bool ControlMeasurements::has_sample_budget() const {
  if (largest_interference_ > 0) return true;
  return control_samples_ == 0 ||
         static_cast<double>(control_samples_ + 1) <= most_share * static_cast<double>(round_samples_);
}

/// Decides in up to three steps whether the part disturbs the cell: one sample alone; if the sample deviates, two more;
/// if these deviate too, the whole part again, to exclude changes over time. Accepts the part if a step does not
/// deviate.
bool ControlMeasurements::has_interference(const Part& part, std::size_t cell) {
  const Sensitivity sensitivity = context_.sampler().sensitivity();
  const auto values = [&](const Round& round, int samples, std::size_t index, bool warm) {
    control_samples_ += static_cast<std::size_t>(samples);
    const auto answers = context_.sample(round, {.stop = fixed_sample_count(samples), .warm = warm});
    return all_ok(answers) ? values_of(context_.description().metric, answers[index]) : std::vector<double>();
  };
  const Round control{part.cells[cell]};
  std::vector<double> alone = values(control, 1, 0, false);
  if (alone.empty()) return false;  // the remeasurement reports the failure
  ConcurrencyEffect here = concurrency_effect(sensitivity, alone, part.values[cell]);
  if (!here.exceeds_limit()) return accept(here.change), false;
  const std::vector<double> more = values(control, thorough_samples - 1, 0, true);
  if (more.empty()) return false;
  alone.insert(alone.end(), more.begin(), more.end());
  here = concurrency_effect(sensitivity, alone, part.values[cell]);
  if (!here.exceeds_limit()) return accept(here.change), false;
  const std::vector<double> again = values(part.cells, thorough_samples, cell, true);
  if (again.empty()) return false;
  here = concurrency_effect(sensitivity, alone, again);
  if (!here.exceeds_limit()) return accept(here.change), false;
  if (context_.description().rows.size() <= most_serial) {
    largest_interference_ = std::max(largest_interference_, here.change);
    return true;
  }
  context_.note(
      "concurrent pairs change the values of a pair, and the matrix is too large to measure the pairs one by one");
  return accept(here.change), false;
}

void ControlMeasurements::note_unchecked_rounds() {
  const auto unchecked = std::count_if(unchecked_.begin(), unchecked_.end(), [](const Part& part) {
    return std::any_of(part.values.begin(), part.values.end(), [](const auto& values) { return !values.empty(); });
  });
  if (largest_interference_ <= 0 || unchecked == 0) return;
  context_.note(
      std::to_string(unchecked) + " rounds were not checked for interference, because the time limit of this " +
      "matrix passed; concurrency changed values of the checked rounds by up to " + percent(largest_interference_));
  context_.record_interference(largest_interference_);
}

/// Accepts a part. change: effect of the concurrent cells, as a fraction.
void ControlMeasurements::accept(double change) {
  context_.record_interference(change);
  context_.store().change([](MatrixResult& result) { ++result.schedule.controlled_rounds; });
}

}  // namespace linkmatrix
