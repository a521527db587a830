#include "measure/control_measurements.hpp"

#include <algorithm>

#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr double most_share = 0.05;        // of the samples that the rounds took
constexpr std::size_t most_of_large = 64;  // of a matrix that is too large for the rest

}  // namespace

void ControlMeasurements::add(std::size_t number, const Round& cells, const std::vector<Sampled>& answers) {
  if (context_.options().concurrency != Concurrency::automatic) return;
  Part part{number, cells, {}};
  std::size_t good = 0, samples = 0;
  for (const Sampled& answer : answers) {
    const bool is_good = answer.status == CellStatus::ok && !answer.samples.empty();
    part.values.push_back(is_good ? values_of(context_.shape().metric, answer) : std::vector<double>());
    good += is_good ? 1 : 0;
    samples = std::max(samples, answer.samples.size());
  }
  measured_ += samples;
  if (context_.shape().rows.size() > most_serial) {
    const double share = std::min(static_cast<double>(most_of_large) / static_cast<double>(rounds_.count()),
                                  most_share * context_.options().stop.min_samples);
    if (good < 2 || !std::bernoulli_distribution(share)(random_)) return;
    values_.clear();  // enough control measurements of this class in this round
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (!part.values[k].empty()) values_[cells[k]] = median(part.values[k]);
    if (const auto suspect = worst_of(part, usual())) disturbs_itself(part, suspect->cell);
    return;
  }
  for (std::size_t k = 0; k < cells.size(); ++k)
    if (!part.values[k].empty()) values_[cells[k]] = median(part.values[k]);
  if (good < 2) return;
  if (number == trusted_ && cells.size() == rounds_.at(number).size()) return agree(0);
  open_.push_back(std::move(part));
}

std::optional<ControlMeasurements::Part> ControlMeasurements::next_disturbed() {
  const auto of_class = usual();
  while (!open_.empty() && !context_.out_of_time() && may_spend()) {
    std::optional<Suspect> worst;
    for (std::size_t p = 0; p < open_.size(); ++p)
      if (auto here = worst_of(open_[p], of_class); here && (!worst || here->worse > worst->worse))
        worst = Suspect{here->worse, p, here->cell};
    if (!worst) break;
    const Part part = std::move(open_[worst->part]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(worst->part));
    if (disturbs_itself(part, worst->cell)) return part;
  }
  return std::nullopt;
}

/// Returns the cell of a part that deviates most from its link class.
std::optional<ControlMeasurements::Suspect> ControlMeasurements::worst_of(
    const Part& part, const std::map<std::string_view, double>& usual) const {
  std::optional<Suspect> worst;
  for (std::size_t k = 0; k < part.cells.size(); ++k) {
    if (part.values[k].empty() || !context_.sampler().is_there(part.cells[k])) continue;
    const double of_class = usual.at(context_.link_class(part.cells[k]));
    const double worse = worse_by(context_.shape().metric, of_class, values_.at(part.cells[k]));
    if (!worst || worse > worst->worse) worst = Suspect{worse, 0, k};
  }
  return worst;
}

/// Returns the median of each link class.
std::map<std::string_view, double> ControlMeasurements::usual() const {
  std::map<std::string_view, std::vector<double>> classes;
  for (const auto& [place, value] : values_) classes[context_.link_class(place)].push_back(value);
  std::map<std::string_view, double> medians;
  for (auto& [link_class, values] : classes) medians[link_class] = median(std::move(values));
  return medians;
}

bool ControlMeasurements::may_spend() const {
  if (found_ > 0) return true;
  return spent_ == 0 || static_cast<double>(spent_ + 1) <= most_share * static_cast<double>(measured_);
}

/// Sequential decision: one sample alone; if it deviates, more samples; if they deviate too, the whole part again, to
/// exclude changes over time.
bool ControlMeasurements::disturbs_itself(const Part& part, std::size_t cell) {
  const Sensitivity sensitivity = context_.sampler().sensitivity();
  const auto values = [&](const Round& round, int samples, std::size_t of, bool warm) {
    spent_ += static_cast<std::size_t>(samples);
    const auto answers = context_.sample(round, {.stop = exactly(samples), .warm = warm});
    return all_ok(answers) ? values_of(context_.shape().metric, answers[of]) : std::vector<double>();
  };
  const Round control{part.cells[cell]};
  std::vector<double> alone = values(control, 1, 0, false);
  if (alone.empty()) return false;  // the remeasurement will find the cause
  Moved here = moved(sensitivity, alone, part.values[cell]);
  if (!here.too_far()) return agree(here.by), false;
  const std::vector<double> more = values(control, thorough_samples - 1, 0, true);
  if (more.empty()) return false;
  alone.insert(alone.end(), more.begin(), more.end());
  here = moved(sensitivity, alone, part.values[cell]);
  if (!here.too_far()) return agree(here.by), false;
  const std::vector<double> again = values(part.cells, thorough_samples, cell, true);
  if (again.empty()) return false;
  here = moved(sensitivity, alone, again);
  if (!here.too_far()) return agree(here.by), false;
  if (context_.shape().rows.size() <= most_serial) {
    found_ = std::max(found_, here.by);
    return true;
  }
  context_.note("concurrent pairs change the values of a pair, and the matrix is too large to measure them one by one");
  return agree(here.by), false;
}

void ControlMeasurements::note_unasked() {
  const auto unasked = std::count_if(open_.begin(), open_.end(), [](const Part& part) {
    return std::any_of(part.values.begin(), part.values.end(), [](const auto& values) { return !values.empty(); });
  });
  if (found_ <= 0 || unasked == 0) return;
  context_.note(std::to_string(unasked) + " rounds were not checked for interference, because the time limit of this " +
                "matrix passed; concurrency changed values of the checked rounds by up to " + percent(found_));
  context_.let_pass(found_);
}

/// Accepts the part with this interference.
void ControlMeasurements::agree(double by) {
  context_.let_pass(by);
  context_.store().change([](MatrixResult& result) { ++result.schedule.controlled_rounds; });
}

}  // namespace linkmatrix
