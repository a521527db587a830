#include "measure/remeasurement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/schedule.hpp"
#include "measure/calibration.hpp"
#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr int tries = 3;  // remeasurements per cell, each with as many samples as the first measurement
const std::string late_text = "the time limit of this matrix passed";

template <class Visit>
void for_each_cell(const Rounds& rounds, const Visit& visit) {
  for (std::size_t r = 0; r < rounds.count(); ++r)
    for (const CellIndex& cell : rounds.at(r)) visit(cell);
}

/// Expected value of a cell, and the fraction by which the cell may be worse.
struct Expected {
  double value, limit;
};

struct CellDeviations {
  std::vector<CellIndex> places;        ///< by CellDeviation::index
  std::vector<Expected> expected;       ///< by CellDeviation::index
  std::vector<CellDeviation> outliers;  ///< sorted by sort_by_benefit()
  std::vector<CellDeviation> healthy;   ///< in the order of the rounds
  std::size_t most = 0;                 ///< number of outliers to measure again
};

/// Expectation for the cells of a link class.
struct ClassExpectation {
  double median = 0;  ///< median of its values
  double limit = 0;   ///< fraction by which a cell may be worse
  double shift = 0;   ///< see class_shift()
};

/// Measured cells of a link class.
struct ClassCells {
  std::vector<double> values, noises;
  std::vector<double> worse;  ///< fraction by which each cell with a reference is worse than its reference

  ClassExpectation expectation(double least_limit) const {
    const double limit = std::max(least_limit, noise());
    return {median(values), limit, class_shift(worse, limit)};
  }

 private:
  /// Returns the lower median, so that of two cells the quieter decides.
  double noise() const {
    std::vector<double> sorted = noises;
    std::sort(sorted.begin(), sorted.end());
    return sorted[(sorted.size() - 1) / 2];
  }
};

double worsened(Metric metric, double value, double fraction) {
  return metric == Metric::latency ? value * (1 + fraction) : value * (1 - fraction);
}

std::size_t rounds_measured(Context& context) {
  std::size_t rounds = 0;
  context.store().change([&](const MatrixResult& result) { rounds = result.schedule.rounds; });
  return rounds;
}

/// Returns 1.5 × the width of the median's interval, as a fraction of the value; 0 without an interval.
double noise_of(Context& context, const CellIndex& cell, double value) {
  const auto interval = context.store().interval(cell);
  return interval ? 1.5 * (interval->high - interval->low) / value : 0;
}

/// Returns the deviations of all measured cells, without partial cells and cells of lost endpoints.
CellDeviations find_cell_deviations(Context& context) {
  const Metric metric = context.description().metric;
  std::map<std::string_view, ClassCells> classes;
  CellDeviations found;
  for_each_cell(context.work().rounds, [&](const CellIndex& cell) {
    const auto value = context.store().value(cell);
    if (!value || context.store().status(cell) == CellStatus::partial) return;
    ClassCells& cells = classes[context.link_class(cell)];
    cells.values.push_back(*value);
    cells.noises.push_back(noise_of(context, cell, *value));
    found.places.push_back(cell);
  });
  const auto& known = context.options().references;
  const Matrix<std::optional<double>> references =
      known ? known->values_for(context.description()) : Matrix<std::optional<double>>{};
  const auto reference = [&](const CellIndex& cell) {
    return references.empty() ? std::nullopt : references(cell.row, cell.column);
  };
  for (const CellIndex& cell : found.places)
    if (const auto expected = reference(cell))
      classes[context.link_class(cell)].worse.push_back(worse_by(metric, *expected, *context.store().value(cell)));
  std::map<std::string_view, ClassExpectation> expectations;
  for (const auto& [link_class, cells] : classes) expectations[link_class] = cells.expectation(outlier_limit(metric));
  for (std::size_t i = 0; i < found.places.size(); ++i) {
    const CellIndex& cell = found.places[i];
    const std::string_view link_class = context.link_class(cell);
    const ClassExpectation& of_class = expectations.at(link_class);
    const auto expected = reference(cell);
    const double should_be = expected ? worsened(metric, *expected, of_class.shift) : of_class.median;
    const double worse = worse_by(metric, should_be, *context.store().value(cell));
    found.expected.push_back({should_be, of_class.limit});
    if (!context.sampler().is_available(cell)) continue;
    (worse > of_class.limit ? found.outliers : found.healthy).push_back({i, cell.row, cell.column, link_class, worse});
  }
  sort_by_benefit(found.outliers, found.healthy, context.description().rows == context.description().columns);
  found.most = std::min(found.outliers.size(), most_remeasured(found.places.size(), rounds_measured(context)));
  return found;
}

/// Measures a cell alone, each attempt with its own warm-up and samples. Returns the measurements, the worst first;
/// only one if its data is wrong. If all fail, removes the cell's first value and returns an empty list.
std::vector<Sampled> sample_alone(Context& context, const CellIndex& cell, int attempts) {
  std::vector<Sampled> answers;
  Sampled failed;
  int attempt = 0;
  for (; attempt < attempts && context.sampler().is_available(cell); ++attempt) {
    Sampled answer =
        context.sample({cell}, {.stop = context.stop(), .counts = true, .round = context.work().rounds.count()})
            .front();
    if (context.has_proven_error(cell)) return {};
    if (answer.status == CellStatus::corrupt && answer.samples.empty()) return {};
    if (answer.status == CellStatus::corrupt) return {answer};
    if (answer.status == CellStatus::partial) return {};  // the first value is of all copies
    const bool good = answer.status == CellStatus::ok && !answer.samples.empty();
    (good ? answers.emplace_back() : failed) = std::move(answer);
  }
  if (answers.empty()) {
    if (!context.sampler().is_available(cell)) return {};  // the record names the lost endpoint
    context.store().fail(cell, failed.status == CellStatus::timeout ? CellStatus::timeout : CellStatus::error);
    context.note(context.name(cell) + " failed when it was measured again: " + failed.why);
    return {};
  }
  if (const std::size_t all = static_cast<std::size_t>(attempt); answers.size() < all)
    context.note(context.name(cell) + " failed in " + std::to_string(all - answers.size()) + " of " +
                 std::to_string(all) + " measurements alone; the other measurements are used: " + failed.why);
  std::sort(answers.begin(), answers.end(), [&](const Sampled& a, const Sampled& b) {
    return worse_by(context.description().metric, context.median_of(b), context.median_of(a)) > 0;
  });
  return answers;
}

void append_outlier(Context& context, const CellIndex& cell, double before, double after, Outcome outcome) {
  context.store().change([&](MatrixResult& result) {
    result.remeasured.push_back({cell.row, cell.column, before, after, outcome});
  });
}

void append_control(Context& context, const CellIndex& cell, double before, double after) {
  context.store().change([&](MatrixResult& result) {
    result.controls.push_back({cell.row, cell.column, before, after});
  });
}

/// after: median of the measurements alone. used: value that the matrix contains.
Outcome outcome_of(Metric metric, const Expected& expected, double after, double used) {
  const auto is_slow = [&](double value) { return worse_by(metric, expected.value, value) > expected.limit; };
  if (is_slow(after)) return Outcome::reproduced;
  return is_slow(used) ? Outcome::intermittent : Outcome::not_reproduced;
}

void add_remeasurement_notes(Context& context, const CellDeviations& cells, std::size_t again) {
  const std::string why = again < cells.most ? late_text : "at most " + std::to_string(cells.most) + " cells are";
  context.store().change([&](MatrixResult& result) { note_remeasurement(result, cells.outliers.size(), again, why); });
}

void put_loss(Context& context, const CellIndex& cell, double alone) {
  const auto together = context.store().value(cell);
  if (!together) return;
  context.store().change([&](MatrixResult& result) {
    result.part("isolated", "isolated", result.unit)(cell.row, cell.column) = alone;
    result.part("loss", "loss compared with isolated", "%")(cell.row, cell.column) =
        100 * worse_by(result.metric, alone, *together);
  });
}

/// Measures every cell without interference: cells that share no resource and pass a calibration run concurrently.
void isolate_all(Context& context) {
  Round cells;
  for_each_cell(context.work().rounds, [&](const CellIndex& cell) {
    if (context.store().value(cell) && context.sampler().is_available(cell)) cells.push_back(cell);
  });
  const ListedRounds rounds(context.disjoint(cells));
  std::size_t left = cells.size();
  std::vector<std::string> failed;
  if (!context.out_of_time()) {
    Calibration calibration(context, rounds, false);
    const std::size_t at_once = calibration.concurrent_cells();
    for (std::size_t r = 0; r < rounds.count() && !context.out_of_time(); ++r)
      for (const Round& part : split_rounds<CellIndex>({rounds.at(r)}, at_once)) {
        const auto answers = context.sample(part, {.stop = fixed_sample_count(brief_samples)});
        left -= part.size();
        for (std::size_t k = 0; k < part.size(); ++k) {
          const bool good = answers[k].status == CellStatus::ok;
          good ? put_loss(context, part[k], context.median_of(answers[k])) : failed.push_back(context.name(part[k]));
        }
      }
  }
  if (left > 0)
    context.note(std::to_string(left) + " of " + std::to_string(cells.size()) +
                 " cells were not measured alone: " + late_text);
  if (!failed.empty()) context.note("failed when it was measured alone: " + Context::shortened_list(failed));
}

/// Sets the value of a remeasured cell: the second worst of the first measurement and three alone. A single disturbance
/// has no effect. An intermittently slow link is usually slow twice, so it stays slow.
class SecondWorst {
 public:
  explicit SecondWorst(Context& context) : context_{context} {}

  /// before: first value. alone: one to three measurements, the worst first.
  void set_value(const CellIndex& cell, double before, const std::vector<Sampled>& alone) {
    const auto is_worse = [&](double a, double b) { return worse_by(context_.description().metric, b, a) > 0; };
    const Sampled& worst = alone.front();
    const bool first_is_worst = is_worse(before, context_.median_of(worst));
    if (alone.size() < static_cast<std::size_t>(tries)) {  // wrong data or a failed attempt: the worst value counts
      if (!first_is_worst || worst.status == CellStatus::corrupt) context_.store_value(cell, worst);
    } else if (first_is_worst) {
      context_.store_value(cell, worst);
      const double better = -worse_by(context_.description().metric, before, context_.median_of(worst));
      if (better > outlier_limit(context_.description().metric)) improved_.push_back(context_.name(cell));
    } else if (is_worse(context_.median_of(alone[1]), before)) {
      context_.store_value(cell, alone[1]);
    }
  }

  void note() {
    if (!improved_.empty())
      context_.note("the second-worst of " + std::to_string(1 + tries) +
                    " measurements is used instead of the worst: " + Context::shortened_list(improved_));
  }

 private:
  Context& context_;
  std::vector<std::string> improved_;  ///< cells whose first value was replaced by a much better one
};

}  // namespace

void remeasure_outliers(Context& context) {
  const CellDeviations cells = find_cell_deviations(context);
  SecondWorst second_worst(context);
  std::size_t again = 0;
  for (; again < cells.most && !context.out_of_time(); ++again) {
    const std::size_t index = cells.outliers[again].index;
    const CellIndex& cell = cells.places[index];
    const double before = *context.store().value(cell);
    const std::vector<Sampled> alone = sample_alone(context, cell, tries);
    if (alone.empty()) continue;
    second_worst.set_value(cell, before, alone);
    const double after = context.median_of(alone[alone.size() / 2]);
    const double used = context.store().value(cell).value_or(after);
    append_outlier(context, cell, before, after,
                   outcome_of(context.description().metric, cells.expected[index], after, used));
  }
  second_worst.note();
  for (const std::size_t i : choose_controls(std::span(cells.outliers).first(again), cells.healthy)) {
    if (context.out_of_time()) break;
    const CellIndex& cell = cells.places[i];
    const double before = *context.store().value(cell);
    if (const std::vector<Sampled> alone = sample_alone(context, cell, tries); !alone.empty())
      append_control(context, cell, before, context.median_of(alone[alone.size() / 2]));
  }
  add_remeasurement_notes(context, cells, again);
}

void compare_with_isolated(Context& context) {
  if (context.work().stress) {
    // --concurrency rounds excludes measurements of single cells
    if (context.options().concurrency != Concurrency::rounds) isolate_all(context);
    return;
  }
  const CellDeviations cells = find_cell_deviations(context);
  std::vector<std::size_t> others = choose_controls(std::span(cells.outliers).first(cells.most), cells.healthy);
  for (std::size_t k = 0; k < std::min(most_controls, cells.healthy.size()); ++k)  // spread over the matrix
    others.push_back(cells.healthy[k * cells.healthy.size() / most_controls].index);
  const std::set<std::size_t> controls(others.begin(), others.end());
  const auto measure_alone = [&](std::size_t index, bool is_outlier) {
    const CellIndex& cell = cells.places[index];
    const double before = *context.store().value(cell);
    const std::vector<Sampled> alone = sample_alone(context, cell, 1);
    if (alone.empty()) return;
    const double after = context.median_of(alone.front());
    if (is_outlier)
      append_outlier(context, cell, before, after,
                     outcome_of(context.description().metric, cells.expected[index], after, after));
    else
      append_control(context, cell, before, after);
    put_loss(context, cell, after);
  };
  std::size_t again = 0;
  for (; again < cells.most && !context.out_of_time(); ++again) measure_alone(cells.outliers[again].index, true);
  for (const std::size_t index : controls)
    if (!context.out_of_time()) measure_alone(index, false);
  add_remeasurement_notes(context, cells, again);
}

}  // namespace linkmatrix
