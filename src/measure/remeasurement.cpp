#include "measure/remeasurement.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/schedule.hpp"
#include "measure/calibration.hpp"
#include "measure/outliers.hpp"

namespace linkmatrix {
namespace {

constexpr int tries = 3;  // each as thorough as the first measurement; their median is the remeasured value
const std::string late_text = "the time limit of this matrix passed";

template <class Visit>
void for_each_cell(const Rounds& rounds, const Visit& visit) {
  for (std::size_t r = 0; r < rounds.count(); ++r)
    for (const Place& place : rounds.at(r)) visit(place);
}

/// Value that a cell should have, and the fraction by which the cell may be worse.
struct Expected {
  double value, limit;
};

struct Standings {
  std::vector<Place> places;                ///< by Standing::index
  std::vector<Expected> expected;           ///< by Standing::index
  std::vector<Standing> outliers, healthy;  ///< as order_by_need has them; in the order of the rounds
  std::size_t most = 0;                     ///< outliers that are measured again
};

struct Usual {
  double value = 0, limit = 0;  ///< the median, and the fraction by which a cell may be worse
  double shift = 0;             ///< fraction by which the class as a whole is worse than its references
};

/// Median and noise of the cells of a link class.
struct ClassOfCells {
  std::vector<double> values, noises, worse;  ///< worse: than their references, of those that have one

  Usual usual(double least_limit) const {
    const double limit = std::max(least_limit, noise());
    return {median(values), limit, class_shift(worse, limit)};
  }

 private:
  /// A noisy cell does not determine the usual noise, even of two cells.
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

/// Returns the noise of a cell as a fraction of its value.
double noise_of(Context& context, const Place& place, double value) {
  const auto interval = context.store().interval(place);
  return interval ? 1.5 * (interval->high - interval->low) / value : 0;
}

/// Returns the deviation of every measured and available cell from its reference or link class, without partial cells.
Standings standings_of(Context& context) {
  const Metric metric = context.shape().metric;
  std::map<std::string_view, ClassOfCells> classes;
  Standings found;
  for_each_cell(context.work().rounds, [&](const Place& place) {
    const auto value = context.store().value(place);
    if (!value || context.store().status(place) == CellStatus::partial) return;
    ClassOfCells& of_class = classes[context.link_class(place)];
    of_class.values.push_back(*value);
    of_class.noises.push_back(noise_of(context, place, *value));
    found.places.push_back(place);
  });
  const auto& known = context.options().references;
  const Matrix<std::optional<double>> references = known ? known->of(context.shape()) : Matrix<std::optional<double>>{};
  const auto reference = [&](const Place& place) {
    return references.empty() ? std::nullopt : references(place.row, place.column);
  };
  for (const Place& place : found.places)
    if (const auto expected = reference(place))
      classes[context.link_class(place)].worse.push_back(worse_by(metric, *expected, *context.store().value(place)));
  std::map<std::string_view, Usual> usual;
  for (const auto& [link_class, cells] : classes) usual[link_class] = cells.usual(outlier_limit(metric));
  for (std::size_t i = 0; i < found.places.size(); ++i) {
    const Place& place = found.places[i];
    const std::string_view link_class = context.link_class(place);
    const Usual& of_class = usual.at(link_class);
    const auto expected = reference(place);
    const double should_be = expected ? worsened(metric, *expected, of_class.shift) : of_class.value;
    const double worse = worse_by(metric, should_be, *context.store().value(place));
    found.expected.push_back({should_be, of_class.limit});
    if (!context.sampler().is_there(place)) continue;
    (worse > of_class.limit ? found.outliers : found.healthy)
        .push_back({i, place.row, place.column, link_class, worse});
  }
  order_by_need(found.outliers, found.healthy, context.shape().rows == context.shape().columns);
  found.most = std::min(found.outliers.size(), most_remeasured(found.places.size(), rounds_measured(context)));
  return found;
}

/// Returns measurements of a cell alone, each with its own warm-up and samples, the worst first. Only the one with
/// wrong data, if any. Empty if all failed; the first value is then invalid too.
std::vector<Sampled> sample_alone(Context& context, const Place& place, int attempts) {
  std::vector<Sampled> answers;
  Sampled failed;
  int attempt = 0;
  for (; attempt < attempts && context.sampler().is_there(place); ++attempt) {
    Sampled answer =
        context.sample({place}, {.stop = context.stop(), .counts = true, .round = context.work().rounds.count()})
            .front();
    if (context.has_proven_error(place)) return {};
    if (answer.status == CellStatus::corrupt && answer.samples.empty()) return {};
    if (answer.status == CellStatus::corrupt) return {answer};
    if (answer.status == CellStatus::partial) return {};  // something else than was measured before
    const bool good = answer.status == CellStatus::ok && !answer.samples.empty();
    (good ? answers.emplace_back() : failed) = std::move(answer);
  }
  if (answers.empty()) {
    if (!context.sampler().is_there(place)) return {};  // the record names who was lost
    context.store().fail(place, failed.status == CellStatus::timeout ? CellStatus::timeout : CellStatus::error);
    context.note(context.name(place) + " failed when it was measured again: " + failed.why);
    return {};
  }
  if (const std::size_t all = static_cast<std::size_t>(attempt); answers.size() < all)
    context.note(context.name(place) + " failed in " + std::to_string(all - answers.size()) + " of " +
                 std::to_string(all) + " measurements alone; the other measurements count: " + failed.why);
  std::sort(answers.begin(), answers.end(), [&](const Sampled& a, const Sampled& b) {
    return worse_by(context.shape().metric, context.median_of(b), context.median_of(a)) > 0;
  });
  return answers;
}

void append_outlier(Context& context, const Place& place, double before, double after, Outcome outcome) {
  context.store().change([&](MatrixResult& result) {
    result.remeasured.push_back({place.row, place.column, before, after, outcome});
  });
}

void append_control(Context& context, const Place& place, double before, double after) {
  context.store().change([&](MatrixResult& result) {
    result.controls.push_back({place.row, place.column, before, after});
  });
}

/// after: the median of the measurements alone. used: the value that the matrix keeps.
Outcome outcome_of(Metric metric, const Expected& expected, double after, double used) {
  const auto is_slow = [&](double value) { return worse_by(metric, expected.value, value) > expected.limit; };
  if (is_slow(after)) return Outcome::reproduced;
  return is_slow(used) ? Outcome::intermittent : Outcome::not_reproduced;
}

void note_doubts_of(Context& context, const Standings& cells, std::size_t again) {
  const std::string why = again < cells.most ? late_text : "at most " + std::to_string(cells.most) + " are";
  context.store().change([&](MatrixResult& result) { note_doubts(result, cells.outliers.size(), again, why); });
}

void put_loss(Context& context, const Place& place, double alone) {
  const auto together = context.store().value(place);
  if (!together) return;
  context.store().change([&](MatrixResult& result) {
    result.part("isolated", "isolated", result.unit)(place.row, place.column) = alone;
    result.part("loss", "loss compared with isolated", "%")(place.row, place.column) =
        100 * worse_by(result.metric, alone, *together);
  });
}

/// Measures every cell alone, with as many concurrent cells as isolation allows.
void isolate_all(Context& context) {
  Round cells;
  for_each_cell(context.work().rounds, [&](const Place& place) {
    if (context.store().value(place) && context.sampler().is_there(place)) cells.push_back(place);
  });
  const ListedRounds rounds(context.disjoint(cells));
  std::size_t left = cells.size();
  std::vector<std::string> failed;
  if (!context.out_of_time()) {
    Calibration calibration(context, rounds, false);
    const std::size_t at_once = calibration.cells_at_once();
    for (std::size_t r = 0; r < rounds.count() && !context.out_of_time(); ++r)
      for (const Round& part : split_rounds<Place>({rounds.at(r)}, at_once)) {
        const auto answers = context.sample(part, {.stop = exactly(brief_samples)});
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
  if (!failed.empty()) context.note("failed when it was measured alone: " + Context::some_of(failed));
}

/// Chooses the value of a cell: the second worst of the first measurement and three alone. A single disturbance has no
/// effect. An intermittently slow link is usually slow twice, and remeasuring does not hide it.
class Choice {
 public:
  explicit Choice(Context& context) : context_{context} {}

  /// alone: at least one, the worst first.
  void settle(const Place& place, double before, const std::vector<Sampled>& alone) {
    const auto is_worse = [&](double a, double b) { return worse_by(context_.shape().metric, b, a) > 0; };
    const Sampled& worst = alone.front();
    const bool first_is_worst = is_worse(before, context_.median_of(worst));
    if (alone.size() < static_cast<std::size_t>(tries)) {  // wrong data, or tries that failed: nothing is forgiven
      if (!first_is_worst || worst.status == CellStatus::corrupt) context_.keep(place, worst);
    } else if (first_is_worst) {
      context_.keep(place, worst);
      const double better = -worse_by(context_.shape().metric, before, context_.median_of(worst));
      if (better > outlier_limit(context_.shape().metric)) forgiven_.push_back(context_.name(place));
    } else if (is_worse(context_.median_of(alone[1]), before)) {
      context_.keep(place, alone[1]);
    }
  }

  void note() {
    if (!forgiven_.empty())
      context_.note("the second worst of " + std::to_string(1 + tries) +
                    " measurements counts, not the worst: " + Context::some_of(forgiven_));
  }

 private:
  Context& context_;
  std::vector<std::string> forgiven_;
};

}  // namespace

void remeasure_outliers(Context& context) {
  const Standings cells = standings_of(context);
  Choice choice(context);
  std::size_t again = 0;
  for (; again < cells.most && !context.out_of_time(); ++again) {
    const std::size_t index = cells.outliers[again].index;
    const Place& place = cells.places[index];
    const double before = *context.store().value(place);
    const std::vector<Sampled> alone = sample_alone(context, place, tries);
    if (alone.empty()) continue;
    choice.settle(place, before, alone);
    const double after = context.median_of(alone[alone.size() / 2]);
    const double used = context.store().value(place).value_or(after);
    append_outlier(context, place, before, after,
                   outcome_of(context.shape().metric, cells.expected[index], after, used));
  }
  choice.note();
  for (const std::size_t i : choose_controls(std::span(cells.outliers).first(again), cells.healthy)) {
    if (context.out_of_time()) break;
    const Place& place = cells.places[i];
    const double before = *context.store().value(place);
    if (const std::vector<Sampled> alone = sample_alone(context, place, tries); !alone.empty())
      append_control(context, place, before, context.median_of(alone[alone.size() / 2]));
  }
  note_doubts_of(context, cells, again);
}

void compare_with_isolated(Context& context) {
  if (context.work().stress) {
    // --concurrency rounds excludes measurements of single cells
    if (context.options().concurrency != Concurrency::rounds) isolate_all(context);
    return;
  }
  const Standings cells = standings_of(context);
  std::vector<std::size_t> others = choose_controls(std::span(cells.outliers).first(cells.most), cells.healthy);
  for (std::size_t k = 0; k < std::min(most_controls, cells.healthy.size()); ++k)  // from all over the matrix
    others.push_back(cells.healthy[k * cells.healthy.size() / most_controls].index);
  const std::set<std::size_t> once(others.begin(), others.end());
  const auto measure_alone = [&](std::size_t index, bool is_outlier) {
    const Place& place = cells.places[index];
    const double before = *context.store().value(place);
    const std::vector<Sampled> alone = sample_alone(context, place, 1);
    if (alone.empty()) return;
    const double after = context.median_of(alone.front());
    if (is_outlier)
      append_outlier(context, place, before, after,
                     outcome_of(context.shape().metric, cells.expected[index], after, after));
    else
      append_control(context, place, before, after);
    put_loss(context, place, after);
  };
  std::size_t again = 0;
  for (; again < cells.most && !context.out_of_time(); ++again) measure_alone(cells.outliers[again].index, true);
  for (const std::size_t index : once)
    if (!context.out_of_time()) measure_alone(index, false);
  note_doubts_of(context, cells, again);
}

}  // namespace linkmatrix
