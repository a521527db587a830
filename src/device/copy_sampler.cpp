#include "device/copy_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/run_times.hpp"
#include "device/copy_group.hpp"
#include "device/repeats.hpp"

namespace linkmatrix {
namespace {

constexpr double unlimited = 1e8;  // seconds
constexpr int most_rejected = 8;   // rejected samples in a row, after which a common start is impossible
// Divides the transfers of a background copy in a short sample, because the next sample waits for their end.
constexpr std::uint64_t short_load_divisor = 4;

/// Returns the fraction of a span during which the load was running.
double covered(const Span& span, const Span& load) {
  const double shared = std::min(span.end, load.end) - std::max(span.start, load.start);
  return std::clamp(shared / span.seconds(), 0.0, 1.0);
}

void check_clock(const CopyTime& time) {
  const double seconds = time.span.seconds();
  if (!(seconds > 0) || !std::isfinite(seconds))
    throw DeviceError("a copy was timed at " + std::to_string(seconds) + " s: the clock is wrong");
}

}  // namespace

CopySampler::CopySampler(Backend& backend, std::vector<CopyCell> cells, Metric metric, int warmup, bool stress,
                         Deadline deadline)
    : backend_{backend}, cells_{std::move(cells)}, metric_{metric}, warmup_{warmup}, stress_{stress}, lost_{backend} {
  for (std::size_t i = 0; i < cells_.size(); ++i) index_[{cells_[i].row, cells_[i].column}] = i;
  prepare(deadline);
}

/// Allocates the buffers of all cells, except of endpoints that cannot allocate them.
void CopySampler::prepare(Deadline deadline) {
  const InPhase phase(RunPhase::allocation);
  for (;;) {
    std::vector<Copy> all;
    for (const CopyCell& cell : cells_)
      if (!lost_.lost_endpoint(cell.copies))
        for (const Copy& copy : cell.copies)
          if (!lost_.has(copy)) all.push_back(copy);
    if (all.empty()) return;
    try {
      return backend_.prepare(all, deadline);
    } catch (const CopiesFailed& failure) {
      const std::size_t before = lost_.size();
      for (const auto& one : failure.failures())
        if (one.endpoint) lost_.add(*one.endpoint, one.status, failure.what(), one.loss);
      if (lost_.size() == before)
        throw DeviceError(failure.what());  // no endpoint was lost, so a repetition would fail too
    }
  }
}

std::vector<Sampled> CopySampler::sample(const Round& round, const SampleRule& rule) {
  std::vector<Sampled> answers(round.size());
  std::vector<std::size_t> open;
  const double allowed = rule.until.seconds_left();
  for (std::size_t k = 0; k < round.size(); ++k) open.push_back(k);
  while (!open.empty()) {
    Group group;
    for (const std::size_t k : open) {
      const std::size_t index = index_.at(round[k]);
      if (const auto endpoint = lost_.lost_endpoint(cells_[index].copies)) {
        answers[k].status = lost_status(round[k]);
        answers[k].why = lost_.why(*endpoint);
        continue;
      }
      if (const auto known = unseen_.find(index); known != unseen_.end()) {
        answers[k] = known->second;
        continue;
      }
      group.cells.push_back(index);
      answers[k] = {};
      group.answers.push_back(&answers[k]);
    }
    if (group.cells.empty()) break;
    SampleRule now = rule;  // a copy that hung has used the time of the other cells
    if (allowed < unlimited) now.until = earlier(Deadline::in(allowed), rule.limit);
    sample_concurrently(group, now);
    std::erase_if(open, [&](std::size_t k) { return answers[k].status != CellStatus::not_run; });
  }
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].is_unseen()) unseen_.emplace(index_.at(round[k]), answers[k]).first->second.visibility.reset();
  return answers;
}

/// Samples the cells of a group together. If some fail, the caller must sample the others again.
void CopySampler::sample_concurrently(Group& group, const SampleRule& rule) {
  std::vector<std::string> left;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    left.push_back(lost_.partial_text(cells_[group.cells[k]].copies));
    for (Copy copy : cells_[group.cells[k]].copies) {
      if (lost_.has(copy)) continue;  // the cell has further copies; the record names the lost endpoint
      copy.bytes /= rule.divide_bytes_by;
      if (rule.transfers > 0 && rule.divide_bytes_by > 1 && copy.background) copy.bytes /= short_load_divisor;
      group.offset = copy.offset;
      group.copies.push_back(copy);
      group.owner.push_back(k);
    }
  }
  try {
    take_samples(group, rule);
    for (std::size_t k = 0; k < group.cells.size(); ++k) {
      Sampled& answer = *group.answers[k];
      if (answer.coverage.wrong_samples > 0) answer.why = wrong_samples_text(answer.coverage) + answer.why;
      if (left[k].empty() || answer.status == CellStatus::corrupt) continue;
      answer.status = CellStatus::partial;
      answer.why = left[k];
    }
    const bool is_compared = !rule.verify || rule.divide_bytes_by != 1 || are_runs_compared(group.copies);
    if (!is_compared) verify(group, rule);
  } catch (
      const CopiesFailed& failure) {  // without a comparison the cells have no values; the engine retries them once
    end_failed_cells(group, group.owner, failure);
  }
}

/// Sets the status of cells with failed copies. Cells that do not need the lost endpoints are sampled again.
void CopySampler::end_failed_cells(Group& group, const std::vector<std::size_t>& owners, const CopiesFailed& failure) {
  std::set<std::size_t> failed;
  bool is_first_loss = false;
  for (const auto& one : failure.failures())
    if (one.endpoint) is_first_loss = lost_.add(*one.endpoint, one.status, failure.what(), one.loss) || is_first_loss;
  for (const auto& one : failure.failures()) {
    const std::size_t owner = owners.at(one.copy);
    if (is_first_loss && one.endpoint && !lost_.lost_endpoint(cells_[group.cells[owner]].copies)) continue;
    failed.insert(owner);
    *group.answers[owner] = {};
    group.answers[owner]->status = one.status;
    group.answers[owner]->why = failure.what();
  }
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    if (failed.contains(k)) continue;
    *group.answers[k] = {};
    group.answers[k]->status = failed.empty() && !is_first_loss ? CellStatus::error : CellStatus::not_run;
    group.answers[k]->why = failure.what();
  }
}

void CopySampler::take_samples(Group& group, const SampleRule& rule) {
  bool is_new = !rule.warm || !reuse_repeats(group);
  const std::optional<Timeline> warm_up = is_new ? choose_repeats(group, rule) : std::nullopt;
  const auto began = Clock::now();
  const auto done = [&] {
    const double spent = seconds_since(began);
    return std::all_of(group.answers.begin(), group.answers.end(),
                       [&](const Sampled* s) { return rule.stop.done(values_of(metric_, *s), spent); });
  };
  const auto any = [&] { return !group.answers.front()->samples.empty(); };
  const auto given_up = [&] { return std::ranges::any_of(group.answers, &Sampled::is_unseen); };
  if (warm_up) add_visibility_results(group, *warm_up);
  if (given_up() && append(group, *warm_up, true)) return;  // another run would wait equally long
  const bool compares = rule.verify && rule.divide_bytes_by == 1 && are_runs_compared(group.copies);
  if (compares) lay_patterns(group, rule);
  for (int rejected = 0; !any() || (!done() && !rule.enough.passed() && !given_up());) {
    if (rule.transfers > 0) next_window(group, rule);
    const auto run_began = Clock::now();
    const Timeline timeline = backend_.run(group.copies, rule.until);
    add_visibility_results(group, timeline);
    if (compares) compare_run(group, rule, timeline, seconds_since(run_began));
    if (std::exchange(is_new, false) && adjust_repeats(group, timeline, rule)) {
      group.portion = {}, group.runs_compared = 0;  // the fraction of a short run does not apply to longer runs
      continue;
    }
    if (!append(group, timeline, rejected >= most_rejected)) ++rejected;
  }
}

/// Moves a short sample to the next part of the buffer, so that its data is in no cache.
void CopySampler::next_window(Group& group, const SampleRule& rule) {
  const std::uint64_t window = windows_++ % rule.divide_bytes_by;
  for (Copy& copy : group.copies) copy.offset = group.offset + window * copy.bytes;
}

/// Sets the repeats of the last sampling. Returns false if a cell had another number of copies.
bool CopySampler::reuse_repeats(Group& group) const {
  std::map<std::size_t, std::size_t> taken;
  for (std::size_t c = 0; c < group.copies.size(); ++c) {
    const auto known = repeats_.find(group.cells[group.owner[c]]);
    const std::size_t at = taken[group.owner[c]]++;
    if (known == repeats_.end() || at >= known->second.size()) return false;
    group.copies[c].repeats = known->second[at];
  }
  for (const auto& [owner, count] : taken)
    if (repeats_.at(group.cells[owner]).size() != count) return false;
  return !stress_;
}

/// Warms up and sets the repeats. Returns the warm-up; nothing if there is none, because each transfer is a sample.
std::optional<Timeline> CopySampler::choose_repeats(Group& group, const SampleRule& rule) {
  if (rule.transfers > 0) next_window(group, rule);
  if (rule.transfers > 0) return find_repeats_for(backend_, group.copies, rule.transfers, rule.until);
  for (Copy& copy : group.copies) copy.repeats = 1;
  std::optional<Timeline> warm_up;
  if (warmup_ > 0)
    warm_up =
        find_repeats(backend_, group.copies, cells_[group.cells.front()].copies, busy_sets(group), warmup_, rule.until);
  keep_repeats(group, rule);
  return warm_up;
}

bool CopySampler::adjust_repeats(Group& group, const Timeline& timeline, const SampleRule& rule) {
  if (warmup_ == 0 || rule.transfers > 0) return false;
  const std::vector<Copy>& first = cells_[group.cells.front()].copies;
  if (!lengthen_repeats(backend_, group.copies, first, busy_sets(group), timeline, rule.until)) return false;
  keep_repeats(group, rule);
  return true;
}

/// Remembers the repeats of full-size samples for reuse_repeats().
void CopySampler::keep_repeats(const Group& group, const SampleRule& rule) {
  if (rule.divide_bytes_by != 1) return;
  for (const std::size_t cell : group.cells) repeats_[cell].clear();
  for (std::size_t c = 0; c < group.copies.size(); ++c)
    repeats_[group.cells[group.owner[c]]].push_back(group.copies[c].repeats);
}

/// Returns the sets of copies, by index, that must be busy for the same time: all of a stress, else both directions of
/// each cell.
std::vector<std::vector<std::size_t>> CopySampler::busy_sets(const Group& group) const {
  std::vector<std::vector<std::size_t>> sets;
  if (!stress_ && metric_ != Metric::bidirectional) return sets;
  sets.resize(stress_ ? 1 : group.cells.size());
  for (std::size_t c = 0; c < group.copies.size(); ++c)
    if (!group.copies[c].background) sets[stress_ ? 0 : group.owner[c]].push_back(c);
  return sets;
}

/// Returns for each cell whether its copies started together while its load was running. In a stress, the load is all
/// other cells.
std::vector<bool> CopySampler::started_concurrently(const Group& group, const Timeline& timeline) const {
  if (timeline.timing != Timing::gate) return std::vector<bool>(group.cells.size(), true);
  std::vector<bool> together;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    std::vector<Span> spans;
    for (std::size_t c = 0; c < group.copies.size(); ++c)
      if (!group.copies[c].background && (group.owner[c] == k || stress_)) spans.push_back(timeline.copies[c].span);
    const Span whole = hull(spans);
    for (std::size_t c = 0; c < group.copies.size(); ++c) {
      if (!group.copies[c].background || group.owner[c] != k) continue;
      const double begun = std::max(whole.start, timeline.copies[c].span.start);  // a load may start earlier
      spans.push_back({begun, begun + whole.seconds()});
    }
    together.push_back(started_together(spans));
  }
  return together;
}

/// Adds a sample to each cell. If copies of a cell did not start together, adds none and returns false, unless
/// `always`.
bool CopySampler::append(Group& group, const Timeline& timeline, bool always) {
  static const std::map<Timing, std::string> words{{Timing::gate, "gate"}, {Timing::in_turn, "in-turn"}};
  clocking_ = {words.at(timeline.timing), std::max(clocking_.uncertainty.value_or(0), timeline.uncertainty)};
  std::vector<std::vector<Span>> measured(group.cells.size());
  std::vector<std::vector<double>> made(group.cells.size());  // transfers
  for (std::size_t c = 0; c < group.copies.size(); ++c) {
    if (group.copies[c].background) continue;
    check_clock(timeline.copies[c]);
    measured[group.owner[c]].push_back(timeline.copies[c].span);
    made[group.owner[c]].push_back(timeline.copies[c].transfers);
  }
  const std::vector<bool> together = started_concurrently(group, timeline);
  if (!always && std::find(together.begin(), together.end(), false) != together.end()) return false;
  std::size_t at = 0;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    Sampled& answer = *group.answers[k];
    const std::vector<Span>& spans = measured[k];
    Sample sample;
    sample.whole = hull(spans);
    for (std::size_t direction = 0; direction < std::min(sample.directions.size(), spans.size()); ++direction)
      sample.directions[direction] = spans[direction];
    sample.slowest = *std::max_element(spans.begin(), spans.end(),
                                       [](const Span& a, const Span& b) { return a.seconds() < b.seconds(); });
    sample.enqueue_seconds = timeline.copies[at].enqueue_seconds;
    const std::vector<double>& transfers = made[k];
    answer.transfers = std::accumulate(transfers.begin(), transfers.end(), 0.0) / static_cast<double>(transfers.size());
    for (std::size_t direction = 0; metric_ == Metric::bidirectional && direction < transfers.size(); ++direction)
      answer.direction_share.at(direction) = transfers[direction] / answer.transfers;
    answer.copies = spans.size();
    answer.bytes = 0;
    answer.started_together = answer.started_together && together[k];
    for (std::size_t c = 0; c < group.copies.size(); ++c) {
      const bool own = group.owner[c] == k, background = group.copies[c].background;
      if (own && !background && !group.copies[c].is_chain()) answer.bytes += static_cast<double>(group.copies[c].bytes);
      if ((own && background) || (!own && stress_))
        sample.loaded_share = std::min(sample.loaded_share, covered(sample.whole, timeline.copies[c].span));
    }
    while (at < group.copies.size() && group.owner[at] == k) ++at;
    answer.samples.push_back(sample);
  }
  return true;
}

/// Adds the visibility results of a run, including warm-ups. An interrupted test becomes a timeout.
void CopySampler::add_visibility_results(Group& group, const Timeline& timeline) {
  for (std::size_t c = 0; c < group.copies.size(); ++c) {
    if (!timeline.copies[c].visibility) continue;
    Sampled& answer = *group.answers[group.owner[c]];
    if (!answer.visibility) answer.visibility.emplace();
    answer.visibility->add(*timeline.copies[c].visibility);
    if (answer.visibility->holds() && answer.visibility->interrupted == 0) continue;
    answer.status = answer.visibility->holds() ? CellStatus::timeout : CellStatus::corrupt;
    answer.why = sentence_of(*answer.visibility, label(group.copies[c].source), label(group.copies[c].destination));
  }
}

std::vector<int> CopySampler::resources(const CellIndex& place) const {
  std::set<int> out;  // a set, because two directions of a cell may share resources
  for (const Copy& copy : cell(place).copies)
    for (const int resource : backend_.resources(copy)) out.insert(resource);
  return {out.begin(), out.end()};
}

std::vector<Path> CopySampler::paths(const CellIndex& place) const {
  std::vector<Path> paths;
  for (const Copy& copy : cell(place).copies)
    if (!copy.background) paths.push_back({label(copy.source), label(copy.destination)});
  return paths;
}

std::string CopySampler::label(int endpoint) const {
  return backend_.endpoints().at(static_cast<std::size_t>(endpoint)).label;
}

bool CopySampler::is_available(const CellIndex& place) const { return !lost_.lost_endpoint(cell(place).copies); }

CellStatus CopySampler::lost_status(const CellIndex& place) const {
  const auto endpoint = lost_.lost_endpoint(cell(place).copies);
  return endpoint ? lost_.status(*endpoint) : CellStatus::error;
}

}  // namespace linkmatrix
