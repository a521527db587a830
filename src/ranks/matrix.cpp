// How the conductor measures a whole matrix: calibration, rounds, a second look at what stands out.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.hpp"
#include "core/outliers.hpp"
#include "ranks/conductor.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr std::size_t most_alone = 4;
constexpr std::size_t rounds_looked_at = 8;  // for the fullest one
constexpr std::size_t most_serial = 64;      // endpoints of a matrix that may be measured a pair at a time unasked
constexpr double least_limit = 0.01, most_limit = 0.03;  // networks and shared cores are noisier than GPU links
constexpr std::size_t everything = static_cast<std::size_t>(-1);

Order brief(Order form) {
  form.stop.min_samples = form.stop.max_samples = 3;
  form.verify = false;
  return form;
}

}  // namespace

void Conductor::measure(const Rounds& rounds, const Order& form, const MeasureOptions& how, Deadline deadline,
                        MatrixResult& result, Sink& sink) {
  const auto start = Clock::now();
  const Deadline soft = Deadline::in(how.max_seconds);
  result.schedule.bisection = how.concurrency == Concurrency::bisection;
  result_ = &result;
  sink_ = &sink;
  failed_.clear();
  failures_.clear();
  std::size_t at_once = how.concurrency == Concurrency::serial ? 1 : everything;
  if (how.concurrency == Concurrency::automatic) at_once = calibrate(rounds, form, result);
  Order order = form;
  for (std::size_t round = 0; round < rounds.count(); ++round) {
    const std::vector<Match> matches = rounds.at(round);
    if (matches.empty()) continue;
    if (deadline.passed()) throw TimedOut("the matrix was not finished within --timeout");
    if (soft.passed()) order.stop.min_samples = order.stop.max_samples = 1;
    play_round(matches, at_once, order);
    const std::size_t wide = std::min(at_once, matches.size());
    result.schedule.pairs_at_once = std::max(result.schedule.pairs_at_once, wide);
    result.schedule.rounds += (matches.size() + wide - 1) / wide;
    result.seconds = seconds_since(start);
  }
  result.schedule.at_once = result.schedule.pairs_at_once > 1;
  retry(order);
  const bool as_it_is = how.concurrency == Concurrency::rounds || how.concurrency == Concurrency::bisection;
  check_alone(rounds, form, !as_it_is);
  result.seconds = seconds_since(start);
}

/// How many matches may run at once without a change of what they measure: some of the fullest round alone, all
/// together, the same alone again. Fewer only where so few endpoints can be measured one by one.
std::size_t Conductor::calibrate(const Rounds& rounds, const Order& form, MatrixResult& result) {
  std::vector<Match> full;
  for (std::size_t round = 0; round < std::min(rounds.count(), rounds_looked_at); ++round)
    if (auto matches = rounds.at(round); matches.size() > full.size()) full = std::move(matches);
  if (full.size() < 2) return everything;
  const Order order = brief(form);
  for (std::size_t at_once = full.size(); at_once > 1; at_once /= 2) {
    const std::span<const Match> together = std::span(full).first(at_once);
    const std::size_t n = std::min(most_alone, at_once);
    std::vector<std::vector<double>> alone(n);
    bool failed = false;
    const auto play_some = [&](std::span<const Match> matches) {
      std::vector<Report> reports;
      if (!failed) reports = play(matches, order);
      failed = failed || std::any_of(reports.begin(), reports.end(), [](auto& r) { return r.outcome != Outcome::ok; });
      return reports;
    };
    const auto measure_alone = [&] {
      for (std::size_t m = 0; m < n && !failed; ++m)
        if (const auto reports = play_some(together.subspan(m, 1)); !failed) alone[m].push_back(reports.front().value);
    };
    measure_alone();
    const std::vector<Report> reports = play_some(together);
    measure_alone();
    if (failed) return everything;  // the rounds will say what is wrong
    double worst = 0, limit = least_limit;
    for (std::size_t m = 0; m < n; ++m) {
      const double reference = (alone[m][0] + alone[m][1]) / 2;
      if (!(reference > 0) || !(reports[m].value > 0)) continue;
      const double moved = std::abs(reports[m].value / reference - 1);
      const double own = std::clamp(std::abs(alone[m][0] / alone[m][1] - 1), least_limit, most_limit);
      if (moved / own > worst / limit) worst = moved, limit = own;
    }
    result.schedule.interference = worst;
    if (worst <= limit) return at_once == full.size() ? everything : at_once;
    if (result.rows.size() > most_serial) {
      result.notes.push_back("pairs at once change what a pair measures, and there are too many to measure one by one");
      return everything;
    }
  }
  return 1;
}

/// Where every pair that can still be measured stands in its link class; the matches go to `matches`, by index.
std::vector<Standing> Conductor::standings(const Rounds& rounds, std::vector<Match>& matches) const {
  std::map<std::string_view, std::vector<double>> classes;
  for (std::size_t r = 0; r < result_->rows.size(); ++r)
    for (std::size_t c = 0; c < result_->columns.size(); ++c)
      if (const auto value = sink_->value(r, c)) classes[result_->link_class(r, c)].push_back(*value);
  std::map<std::string_view, double> usual;
  for (auto& [link_class, values] : classes) usual[link_class] = median(std::move(values));
  std::vector<Standing> found;
  for (std::size_t round = 0; round < rounds.count(); ++round)
    for (Match& match : rounds.at(round)) {
      const auto value = sink_->value(match.row, match.column);
      if (!value || !ensemble_.is_there(match.lanes)) continue;
      const std::string_view link_class = result_->link_class(match.row, match.column);
      const double worse = worse_by(result_->metric, usual[link_class], *value);
      found.push_back({matches.size(), match.row, match.column, link_class, worse});
      matches.push_back(std::move(match));
    }
  return found;
}

/// Once more with nothing else going on: the middle one of `tries`, or one in which wrong data arrived; nothing where
/// all failed.
std::optional<Report> Conductor::play_alone(const Match& match, const Order& form, int tries) {
  std::vector<Report> reports;
  for (int attempt = 0; attempt < tries; ++attempt) reports.push_back(play({&match, 1}, form).front());
  std::erase_if(reports, [](const Report& report) { return report.outcome != Outcome::ok; });
  if (reports.empty()) return std::nullopt;
  const auto wrong = std::find_if(reports.begin(), reports.end(), [](const Report& r) { return r.wrong_bytes > 0; });
  if (wrong != reports.end()) return *wrong;
  std::sort(reports.begin(), reports.end(), [](const Report& a, const Report& b) { return a.value < b.value; });
  return reports[reports.size() / 2];
}

/// Measures a pair alone, into `list`. `replace`: an outlier gets the new value; else both are kept, and what a pair
/// loses to the others. Wrong data is kept in any case.
void Conductor::measure_again(const Match& match, const Order& form, bool replace, std::vector<Remeasured>& list) {
  const double before = *sink_->value(match.row, match.column);
  const std::optional<Report> alone = play_alone(match, form, replace ? 3 : 1);
  if (!alone) return;
  list.push_back({match.row, match.column, before, alone->value});
  const bool outlier = &list == &result_->remeasured;
  if (alone->wrong_bytes > 0 || (replace && outlier)) sink_->put(match.row, match.column, *alone);
  if (replace) return;
  result_->part("isolated", "isolated", result_->unit)(match.row, match.column) = alone->value;
  result_->part("loss", "loss against isolated", "%")(match.row, match.column) =
      100 * worse_by(result_->metric, alone->value, before);
}

/// The cells that are worst against their link class once more with nothing else going on, and healthy ones.
void Conductor::check_alone(const Rounds& rounds, const Order& form, bool replace) {
  if (result_->values.empty()) {
    result_->notes.push_back("a matrix of so many endpoints has no second look: its outliers were measured once");
    return;
  }
  if (!replace && !result_->schedule.at_once) return;
  std::vector<Match> matches;
  std::vector<Standing> worst, ordinary;
  for (const Standing& cell : standings(rounds, matches))
    (cell.worse > outlier_limit(result_->metric) ? worst : ordinary).push_back(cell);
  std::stable_sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) { return a.worse > b.worse; });
  // many are not outliers: the whole class is noisy
  const std::size_t again = worst.size() <= most_remeasured ? worst.size() : replace ? 0 : most_remeasured;
  for (std::size_t k = 0; k < again; ++k) measure_again(matches[worst[k].index], form, replace, result_->remeasured);
  std::vector<std::size_t> controls = choose_controls(std::span(worst).first(again), ordinary);
  if (!replace)  // what usual pairs lose, all over the matrix
    for (std::size_t k = 0; k < std::min(most_controls, ordinary.size()); ++k)
      controls.push_back(ordinary[k * ordinary.size() / most_controls].index);
  const std::set<std::size_t> once(controls.begin(), controls.end());
  for (const std::size_t index : once) measure_again(matches[index], form, replace, result_->controls);
  const std::string most = "at most " + std::to_string(most_remeasured) + " are";
  note_doubts(*result_, worst.size(), again, again > 0 ? most : "so many are no outliers, their link class is noisy");
}

}  // namespace linkmatrix::ranks
