#include "measure/suspicion.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/statistics.hpp"

namespace linkmatrix {
namespace {

constexpr double smallest_loss = 0.05;  // smallest loss to find, as a fraction
constexpr double chance = 0.01;         // of a false alarm in a run …
constexpr double decisions = 8;         // … that decides this many times
constexpr double least_share = 0.3;     // of an end's cells that are slow, where it is at fault
constexpr double worst_ends = 0.1;      // share of the ends that may be at fault
constexpr std::size_t least_slow = 2;

}  // namespace

Suspicion::Suspicion(std::size_t endpoints, Metric metric) : endpoints_{endpoints}, metric_{metric} {}

void Suspicion::add(const std::vector<Value>& values) {
  std::vector<double> logs;
  for (const auto& [place, value] : values) logs.push_back(std::log(value));
  slow_of_last_.clear();
  if (logs.empty()) return;
  const double usual = median(logs), sign = metric_ == Metric::latency ? -1 : 1;
  for (std::size_t k = 0; k < values.size(); ++k)
    seen_.push_back({values[k].place, sign * (logs[k] - usual), first_, confirms_});
  const double limit = threshold();
  for (std::size_t k = seen_.size() - values.size(); k < seen_.size(); ++k)
    if (seen_[k].off < -limit) slow_of_last_.push_back(seen_[k].place);
}

double Suspicion::threshold() const {
  std::vector<double> off;
  for (const Seen& cell : seen_) off.push_back(cell.off);
  return std::max(smallest_loss / 2, off.empty() ? 0 : 3 * robust_sigma(off));
}

Suspicion::Ends Suspicion::ends_of(const Place& place) const {
  if (metric_ == Metric::bidirectional) return {place.row, place.column};
  return {place.row, endpoints_ + place.column};
}

void Suspicion::count(std::vector<End>& ends, double limit) const {
  for (End& end : ends) end.cells = end.slow = 0, end.is_watched = false;
  for (const Seen& cell : seen_) {
    const auto [from, to] = ends_of(cell.place);
    if (ends[from].is_settled || ends[to].is_settled) continue;
    for (const std::size_t end : {from, to}) {
      ++ends[end].cells;
      if (cell.off >= -limit) continue;
      ++ends[end].slow;
      ends[end].is_watched = ends[end].is_watched || cell.is_first || ends[end].slow >= least_slow;
    }
  }
}

/// Estimates the rate of random outliers: the larger of the rates of all ends except the worst, and of ends with at
/// most one slow cell. If half of the ends have a slow cell, the rate of all.
double Suspicion::share_of_flukes(const std::vector<End>& ends) const {
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
  const double least = 1 / (static_cast<double>(seen_.size()) + 1);  // too few cells for a rate of 0
  return std::max({share(static_cast<std::size_t>(most)), share(static_cast<std::size_t>(few - known.begin())), least});
}

/// Settles ends one after the other, the least random first, because its slow cells are no evidence against other ends.
std::vector<Suspicion::End> Suspicion::settled_ends(double limit) const {
  std::vector<End> ends(metric_ == Metric::bidirectional ? endpoints_ : 2 * endpoints_);
  const double most = chance / (static_cast<double>(ends.size()) * decisions);
  for (;;) {
    count(ends, limit);
    const double flukes = share_of_flukes(ends);
    std::map<std::pair<std::size_t, std::size_t>, double> tails;  // most ends are alike
    End* worst = nullptr;
    double least = most;
    for (End& end : ends) {
      if (end.slow < least_slow || static_cast<double>(end.slow) < least_share * static_cast<double>(end.cells))
        continue;
      const auto [at, is_new] = tails.try_emplace({end.cells, end.slow});
      if (is_new) at->second = binomial_tail(end.cells, end.slow, flukes);
      if (at->second <= least && (worst == nullptr || at->second < least)) worst = &end, least = at->second;
    }
    if (worst == nullptr) return ends;
    worst->is_settled = true;
  }
}

Suspicion::Standing Suspicion::standing() const {
  const double limit = threshold();
  const std::vector<End> ends = settled_ends(limit);
  Standing found;
  found.good.assign(endpoints_, true);
  std::vector<std::pair<std::size_t, std::size_t>> suspects;  // slow cells, endpoint
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
  for (const Seen& cell : seen_) {
    const auto [from, to] = ends_of(cell.place);
    const bool is_explained = ends[from].is_settled || ends[to].is_settled;
    const bool is_open = open.contains(cell.place.row) || open.contains(cell.place.column);
    if (cell.off < -limit && !is_explained && !is_open) found.alone.push_back(cell.place);
  }
  return found;
}

Matchings::SlowEndpoint Suspicion::described(std::size_t endpoint, bool sends, bool receives, double limit) const {
  Matchings::SlowEndpoint found{endpoint, sends, receives, 0, 0, 0, 0, 0};
  std::vector<double> slow;
  for (const Seen& cell : seen_) {
    if (!(sends && cell.place.row == endpoint) && !(receives && cell.place.column == endpoint)) continue;
    ++(cell.confirms ? found.confirmed : found.cells);
    if (cell.off >= -limit) continue;
    ++(cell.confirms ? found.slow_again : found.slow);
    slow.push_back(cell.off);
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
    if (sends || receives) matchings.slow_endpoints.push_back(described(endpoint, sends, receives, limit));
  }
  for (const Seen& cell : seen_)
    if (cell.off < -limit)
      matchings.slow_rows.push_back(cell.place.row), matchings.slow_columns.push_back(cell.place.column);
}

}  // namespace linkmatrix
