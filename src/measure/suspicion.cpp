#include "measure/suspicion.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/statistics.hpp"

namespace linkmatrix {
namespace {

constexpr double smallest_loss = 0.05;     // smallest loss to find, as a fraction
constexpr double false_alarm_rate = 0.01;  // probability of a false alarm per run
constexpr double decisions = 8;            // number of decisions per run (Bonferroni correction)
constexpr double least_share = 0.3;        // minimum fraction of slow cells of a settled end
constexpr double worst_ends = 0.1;  // fraction of ends that the outlier rate leaves out, because they may be slow
constexpr std::size_t least_slow = 2;

}  // namespace

Suspicion::Suspicion(std::size_t endpoints, Metric metric) : endpoints_{endpoints}, metric_{metric} {}

void Suspicion::add(const std::vector<Value>& values) {
  std::vector<double> logs;
  for (const auto& [index, value] : values) logs.push_back(std::log(value));
  last_slow_cells_.clear();
  if (logs.empty()) return;
  const double middle = median(logs), sign = metric_ == Metric::latency ? -1 : 1;
  for (std::size_t k = 0; k < values.size(); ++k)
    observations_.push_back({values[k].cell, sign * (logs[k] - middle), first_, confirms_});
  const double limit = threshold();
  for (std::size_t k = observations_.size() - values.size(); k < observations_.size(); ++k)
    if (observations_[k].deviation < -limit) last_slow_cells_.push_back(observations_[k].cell);
}

double Suspicion::threshold() const {
  std::vector<double> deviations;
  for (const Observation& observation : observations_) deviations.push_back(observation.deviation);
  return std::max(smallest_loss / 2, deviations.empty() ? 0 : 3 * robust_sigma(deviations));
}

Suspicion::Ends Suspicion::ends_of(const CellIndex& index) const {
  if (metric_ == Metric::bidirectional) return {index.row, index.column};
  return {index.row, endpoints_ + index.column};
}

void Suspicion::count(std::vector<End>& ends, double limit) const {
  for (End& end : ends) end.cells = end.slow = 0, end.is_watched = false;
  for (const Observation& observation : observations_) {
    const auto [from, to] = ends_of(observation.cell);
    if (ends[from].is_settled || ends[to].is_settled) continue;
    for (const std::size_t end : {from, to}) {
      ++ends[end].cells;
      if (observation.deviation >= -limit) continue;
      ++ends[end].slow;
      ends[end].is_watched = ends[end].is_watched || observation.is_first || ends[end].slow >= least_slow;
    }
  }
}

/// Estimates the rate of random outliers per cell: the maximum of the rate without the worst 10 % of the ends, and the
/// rate of ends with at most one slow cell. If half of the ends have a slow cell, the rate of all ends.
double Suspicion::random_outlier_rate(const std::vector<End>& ends) const {
  std::vector<const End*> known;
  for (const End& end : ends)
    if (end.cells > 0) known.push_back(&end);
  if (known.empty()) return 1;
  std::sort(known.begin(), known.end(), [](const End* a, const End* b) { return a->slow < b->slow; });
  const auto share = [&](std::size_t first_ends) {
    std::size_t slow = 0, cells = 0;
    for (std::size_t k = 0; k < first_ends; ++k) slow += known[k]->slow, cells += known[k]->cells;
    return cells == 0 ? 0 : static_cast<double>(slow) / static_cast<double>(cells);
  };
  if (known[known.size() / 2]->slow > 0) return share(known.size());
  const auto few = std::find_if(known.begin(), known.end(), [](const End* end) { return end->slow > 1; });
  const auto most = static_cast<double>(known.size()) * (1 - worst_ends);
  const double least = 1 / (static_cast<double>(observations_.size()) + 1);  // a finite sample does not prove rate 0
  return std::max({share(static_cast<std::size_t>(most)), share(static_cast<std::size_t>(few - known.begin())), least});
}

/// Settles ends one after the other, the least probable first. Slow cells of a settled end are no evidence against
/// other ends.
std::vector<Suspicion::End> Suspicion::settled_ends(double limit) const {
  std::vector<End> ends(metric_ == Metric::bidirectional ? endpoints_ : 2 * endpoints_);
  const double most = false_alarm_rate / (static_cast<double>(ends.size()) * decisions);
  for (;;) {
    count(ends, limit);
    const double outlier_rate = random_outlier_rate(ends);
    std::map<std::pair<std::size_t, std::size_t>, double> tails;  // cached, because many ends have the same counts
    End* worst = nullptr;
    double least = most;
    for (End& end : ends) {
      if (end.slow < least_slow || static_cast<double>(end.slow) < least_share * static_cast<double>(end.cells))
        continue;
      const auto [at, is_new] = tails.try_emplace({end.cells, end.slow});
      if (is_new) at->second = binomial_tail(end.cells, end.slow, outlier_rate);
      if (at->second <= least && (worst == nullptr || at->second < least)) worst = &end, least = at->second;
    }
    if (worst == nullptr) return ends;
    worst->is_settled = true;
  }
}

Suspicion::State Suspicion::state() const {
  const double limit = threshold();
  const std::vector<End> ends = settled_ends(limit);
  State found;
  found.good.assign(endpoints_, true);
  std::vector<std::pair<std::size_t, std::size_t>> suspects;  // number of slow cells, endpoint
  for (std::size_t endpoint = 0; endpoint < endpoints_; ++endpoint) {
    bool is_settled = false, is_suspect = false;
    std::size_t slow = 0;
    for (std::size_t at = endpoint; at < ends.size(); at += endpoints_) {
      const End& end = ends[at];
      is_settled = is_settled || end.is_settled;
      is_suspect = is_suspect || (!end.is_settled && end.is_watched && !end.is_clear());
      slow += end.slow;
    }
    if (is_settled) found.settled.push_back(endpoint);
    if (is_suspect) suspects.emplace_back(slow, endpoint);
    found.good[endpoint] = !is_settled && slow == 0;
  }
  std::stable_sort(suspects.begin(), suspects.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::set<std::size_t> open;
  for (const auto& [slow, endpoint] : suspects) found.suspects.push_back(endpoint), open.insert(endpoint);
  for (const Observation& observation : observations_) {
    const auto [from, to] = ends_of(observation.cell);
    const bool is_explained = ends[from].is_settled || ends[to].is_settled;
    const bool is_open = open.contains(observation.cell.row) || open.contains(observation.cell.column);
    if (observation.deviation < -limit && !is_explained && !is_open) found.alone.push_back(observation.cell);
  }
  return found;
}

Matchings::SlowEndpoint Suspicion::describe(std::size_t endpoint, bool sends, bool receives, double limit) const {
  Matchings::SlowEndpoint found{endpoint, sends, receives, 0, 0, 0, 0, 0};
  std::vector<double> slow;
  for (const Observation& observation : observations_) {
    if (!(sends && observation.cell.row == endpoint) && !(receives && observation.cell.column == endpoint)) continue;
    ++(observation.confirms ? found.confirmed : found.cells);
    if (observation.deviation >= -limit) continue;
    ++(observation.confirms ? found.slow_again : found.slow);
    slow.push_back(observation.deviation);
  }
  found.shift = slow.empty() ? 0 : std::expm1(median(slow));
  if (sends && receives && metric_ != Metric::bidirectional) found.slow_again /= 2, found.confirmed /= 2;
  return found;
}

void Suspicion::decide(Matchings& matchings) const {
  const double limit = threshold();
  const std::vector<End> ends = settled_ends(limit);
  const bool is_bidirectional = metric_ == Metric::bidirectional;
  for (std::size_t endpoint = 0; endpoint < endpoints_; ++endpoint) {
    const bool sends = ends[endpoint].is_settled;
    const bool receives = is_bidirectional ? sends : ends[endpoints_ + endpoint].is_settled;
    if (sends || receives) matchings.slow_endpoints.push_back(describe(endpoint, sends, receives, limit));
  }
  for (const Observation& observation : observations_)
    if (observation.deviation < -limit)
      matchings.slow_rows.push_back(observation.cell.row), matchings.slow_columns.push_back(observation.cell.column);
}

}  // namespace linkmatrix
