#include "measure/matching_schedule.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "core/error.hpp"
#include "core/schedule.hpp"
#include "measure/calibration.hpp"
#include "measure/context.hpp"
#include "measure/matching_controls.hpp"
#include "measure/outliers.hpp"
#include "measure/remeasurement.hpp"
#include "measure/suspicion.hpp"

namespace linkmatrix {
namespace {

using Pair = MatchingGenerator::Pair;

constexpr std::size_t first_matchings = 2;
constexpr std::size_t least_controls = 4;  // minimum number of healthy pairs in the matching without other traffic
const std::string out_of_time = "the time limit of this matrix passed (--max-time): ";
constexpr auto nap = std::chrono::milliseconds(20);

class MatchingSchedule {
 public:
  MatchingSchedule(Sampler& sampler, const EndpointGroups& groups, const MeasureOptions& options, Deadline deadline,
                   Store& store)
      : work_{rounds_},
        context_{sampler, work_, options, deadline, store},
        deadline_{deadline},
        groups_{groups},
        seed_{options.seed ? *options.seed : std::random_device{}() >> 1},
        generator_{groups, seed_},
        suspicion_{groups.node.size(), context_.description().metric} {
    context_.store().change([&](MatrixResult& result) {
      result.schedule.matchings = true;
      result.matchings.emplace();
      result.matchings->seed = seed_;
      result.matchings->groups = groups_.group;
    });
  }

  void run() {
    try {
      measure_all();
    } catch (...) {
      for (const CellIndex& cell : planned_)
        if (context_.store().status(cell) == CellStatus::not_applicable)
          context_.store().mark(cell, CellStatus::not_run);
      finish();
      throw;
    }
    finish();
  }

 private:
  void measure_all() {
    for (std::size_t k = 0; k < first_matchings; ++k) {
      auto taken = absent();
      measure(generator_.pair_rest(taken), Purpose::random);
    }
    suspicion_.end_of_first_rounds();
    shared_bottleneck_ = find_shared_bottleneck(context_, generator_, last_);
    if (!shared_bottleneck_) search();
    if (!shared_bottleneck_) open_ = suspicion_.state().suspects;
    if (context_.store().can_remeasure()) retry(context_, static_cast<std::size_t>(-1));
    if (!shared_bottleneck_) confirm();
    set_remeasured_values();
    if (!groups_.group.empty() && context_.description().metric != Metric::latency) measure_groups();
  }

  /// Measures the rates between groups without slow endpoints.
  void measure_groups() {
    auto out = absent();
    for (const std::size_t endpoint : suspicion_.state().settled) out[endpoint] = true;
    if (const std::size_t left = measure_crossings(context_, generator_, groups_, out); left > 0)
      context_.note(out_of_time + std::to_string(left) + " matchings between groups were not measured");
  }

  void search() {
    for (std::size_t drawn = first_matchings; drawn < most_search_matchings; ++drawn) {
      const Suspicion::State now = suspicion_.state();
      if (now.suspects.empty()) return;
      if (context_.out_of_time())
        return late(now.suspects.size(), "suspected endpoints were not measured with further partners");
      auto taken = absent();
      std::vector<Pair> pairs = generator_.pair_with_good(now.suspects, now.good, taken);
      if (pairs.empty()) return;
      append(pairs, generator_.pair_rest(taken));
      measure(pairs, Purpose::suspects);
    }
  }

  /// Repeats findings with new partners after a pause, to distinguish faults from short disturbances.
  void confirm() {
    const Suspicion::State found = suspicion_.state();
    if (found.settled.empty() && found.alone.empty()) return;
    const std::size_t open = found.settled.size() + found.alone.size();
    if (context_.out_of_time()) return late(open, "slow endpoints and pairs were not measured again");
    pause();
    first_confirming_ = rounds_.count();
    for (std::size_t k = 0; k < confirming_matchings; ++k) {
      if (context_.out_of_time())
        return late(open, "slow endpoints and pairs were measured again in too few matchings");
      const bool alone = k == 1;
      auto taken = absent();
      std::vector<Pair> pairs;
      if (!alone) pairs = same_pairs(found.alone, taken);
      append(pairs, generator_.pair_with_good(found.settled, found.good, taken));
      if (!alone) append(pairs, generator_.pair_with_good(found.suspects, found.good, taken));
      if (pairs.empty()) continue;
      std::vector<Pair> others = generator_.pair_rest(taken);
      if (alone) {
        std::erase_if(others, [&](const Pair& pair) { return !found.good[pair.first] || !found.good[pair.second]; });
        others.resize(std::min(others.size(), std::max(least_controls, 2 * pairs.size())));
      }
      append(pairs, others);
      measure(pairs, Purpose::confirm, alone);
    }
  }

  static void append(std::vector<Pair>& pairs, const std::vector<Pair>& more) {
    pairs.insert(pairs.end(), more.begin(), more.end());
  }

  std::vector<bool> absent() {
    std::vector<bool> out(groups_.lane.size());
    for (std::size_t endpoint = 0; endpoint < out.size(); ++endpoint)
      out[endpoint] = !context_.sampler().is_available({endpoint, endpoint});
    return out;
  }

  /// Returns the pairs of slow cells, so that they are repeated with the same partner.
  std::vector<Pair> same_pairs(const std::vector<CellIndex>& cells, std::vector<bool>& taken) {
    std::vector<Pair> pairs;
    for (const auto& [row, column] : cells) {
      if (taken[row] || taken[column]) continue;
      pairs.emplace_back(row, column);
      taken[row] = taken[column] = true;
    }
    return pairs;
  }

  void pause() {
    const double began = context_.seconds();
    const Deadline end = earlier(Deadline::in(context_.options().confirm_after), deadline_);
    while (!end.passed() && !context_.out_of_time()) std::this_thread::sleep_for(nap);
    const double waited = context_.seconds() - began;
    context_.store().change([&](MatrixResult& result) { result.matchings->pause = waited; });
  }

  /// Measures pairs lane by lane, in both directions unless each cell is bidirectional. alone: see Matching::alone.
  void measure(const std::vector<Pair>& pairs, Purpose purpose, bool alone = false) {
    const bool bidirectional = context_.description().metric == Metric::bidirectional;
    std::vector<Round> parts;
    planned_.clear();
    for (const bool back : {false, true}) {
      if (back && bidirectional) continue;
      for (Round& part : lane_rounds(pairs, groups_.lane, back)) {
        planned_.insert(planned_.end(), part.begin(), part.end());
        parts.push_back(std::move(part));
      }
    }
    context_.store().change([&](MatrixResult& result) {
      auto& drawn = result.matchings->drawn.emplace_back();
      drawn.purpose = purpose;
      drawn.alone = alone;
      for (const auto& [row, column] : planned_) drawn.rows.push_back(row), drawn.columns.push_back(column);
    });
    for (const Round& part : parts) sample(part);
    planned_.clear();
  }

  void sample(const Round& part) {
    Round there;
    for (const CellIndex& cell : part)
      if (context_.sampler().is_available(cell))
        there.push_back(cell);
      else
        context_.store().mark(cell, context_.sampler().lost_status(cell));
    if (there.empty()) return;
    const auto answers = context_.sample(there, {.stop = context_.stop(), .counts = true, .round = rounds_.count()});
    last_.clear();
    for (std::size_t k = 0; k < there.size(); ++k) {
      store_or_collect(there[k], answers[k]);
      const bool has_failed = answers[k].status == CellStatus::timeout || answers[k].status == CellStatus::error;
      if (has_failed) failed_.push_back(context_.name(there[k]) + ": " + answers[k].why);
      if (has_failed || answers[k].samples.empty()) continue;
      last_.push_back({there[k], context_.median_of(answers[k])});
    }
    suspicion_.add(last_);
    for (const CellIndex& cell : suspicion_.last_slow_cells())
      if (again_.contains(cell))
        ++slow_again_[cell];
      else
        slow_.insert(cell);
    rounds_.add(there);
    context_.store().change([&](MatrixResult& result) {
      result.schedule.rounds = rounds_.count();
      result.schedule.pairs_at_once = std::max(result.schedule.pairs_at_once, there.size());
      result.schedule.at_once = result.schedule.pairs_at_once > 1;
      result.seconds = context_.seconds();
    });
  }

  /// Stores the first value of a cell. Collects later measurements for set_remeasured_values().
  void store_or_collect(const CellIndex& cell, const Sampled& answer) {
    if (!context_.store().value(cell)) return context_.store_value(cell, answer);
    if (answer.status == CellStatus::ok && !answer.samples.empty()) again_[cell].push_back(answer);
  }

  /// Sets each repeated cell to the median of its measurements, or to the worse of two. A single disturbance therefore
  /// has no effect, but an intermittently slow path has.
  void set_remeasured_values() {
    for (const auto& [cell, answers] : again_) {
      if (context_.store().status(cell) != CellStatus::ok) continue;
      const double before = *context_.store().value(cell);
      std::vector<double> later;
      std::vector<std::pair<double, const Sampled*>> all{{before, nullptr}};
      for (const Sampled& answer : answers) {
        later.push_back(context_.median_of(answer));
        all.emplace_back(later.back(), &answer);
      }
      std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
        return worse_by(context_.description().metric, b.first, a.first) > 0;
      });
      if (const Sampled* chosen = all[(all.size() - 1) / 2].second) {
        context_.store().fail(cell,
                              CellStatus::not_applicable);  // so that store_value() does not count its data twice
        context_.store_value(cell, *chosen);
      }
      if (!slow_.contains(cell)) continue;
      const std::size_t slow_again = slow_again_[cell];
      const Outcome outcome = 2 * slow_again > answers.size() ? Outcome::reproduced
                              : slow_again > 0                ? Outcome::intermittent
                                                              : Outcome::not_reproduced;
      context_.store().change([&, at = cell](MatrixResult& result) {
        result.remeasured.push_back({at.row, at.column, before, median(later), outcome});
      });
    }
  }

  /// Decides by the final values which endpoints are slow. A repeated cell belongs to its first round.
  void decide() {
    Suspicion all(groups_.node.size(), context_.description().metric);
    std::set<CellIndex> seen;
    for (std::size_t k = 0; k < rounds_.count(); ++k) {
      if (k == first_confirming_) all.begin_confirmation();
      std::vector<Suspicion::Value> values;
      for (const CellIndex& cell : rounds_.at(k))
        if (const auto value = context_.store().value(cell); value && seen.insert(cell).second)
          values.push_back({cell, *value});
      all.add(values);
    }
    context_.store().change([&](MatrixResult& result) {
      all.decide(*result.matchings);
      result.matchings->shared_bottleneck = shared_bottleneck_;
      if (shared_bottleneck_) result.matchings->slow_endpoints.clear();
    });
  }

  void late(std::size_t count, const std::string& request) {
    context_.note(out_of_time + std::to_string(count) + " " + request);
    is_late_ = true;
  }

  void finish() {
    for (std::size_t k = 0; k < std::min(failed_.size(), most_reasons); ++k) context_.note(failed_[k]);
    context_.note_irregularities();
    decide();
    const Suspicion::State end = suspicion_.state();
    const Clocking clocking = context_.sampler().clocking();
    context_.store().change([&](MatrixResult& result) {
      // With every matching, chance makes more healthy endpoints slow twice. Endpoints that become suspects after the
      // search are therefore omitted.
      std::erase_if(open_, [&](std::size_t one) { return std::ranges::find(end.suspects, one) == end.suspects.end(); });
      if (is_late_) open_.insert(open_.end(), end.settled.begin(), end.settled.end());
      std::sort(open_.begin(), open_.end());
      open_.erase(std::unique(open_.begin(), open_.end()), open_.end());
      for (const std::size_t endpoint : open_) result.matchings->open.push_back(result.rows.at(endpoint));
      result.seconds = context_.seconds();
      result.timing = clocking.timing;
      result.clock_uncertainty = clocking.uncertainty;
    });
  }

  static constexpr std::size_t most_reasons = 20;

  ListedRounds rounds_;  ///< measured rounds
  const Work work_;
  Context context_;
  Deadline deadline_;
  EndpointGroups groups_;
  std::uint32_t seed_;
  MatchingGenerator generator_;
  Suspicion suspicion_;
  std::optional<Matchings::SharedBottleneck> shared_bottleneck_;
  bool is_late_ = false;
  std::size_t first_confirming_ = static_cast<std::size_t>(-1);  ///< first round after the pause
  Round planned_;                                                ///< cells of the current matching
  std::vector<Suspicion::Value> last_;                           ///< cells of the last round
  std::set<CellIndex> slow_;                                     ///< cells that were slow in their first measurement
  std::map<CellIndex, std::size_t> slow_again_;                  ///< number of slow repeated measurements of a cell
  std::map<CellIndex, std::vector<Sampled>> again_;              ///< repeated measurements
  std::vector<std::size_t> open_;                                ///< suspects at the end of the search
  std::vector<std::string> failed_;
};

}  // namespace

void measure_matchings(Sampler& sampler, const EndpointGroups& groups, const MeasureOptions& options, Deadline deadline,
                       Store& store) {
  MatchingSchedule(sampler, groups, options, deadline, store).run();
}

}  // namespace linkmatrix
