#include "device/copy_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "core/error.hpp"
#include "core/run_times.hpp"
#include "device/repeats.hpp"

namespace linkmatrix {
namespace {

constexpr double unlimited = 1e8;             // seconds: a deadline that does not come
constexpr int most_rejected = 8;              // samples whose copies did not start together; then they cannot
constexpr double share_for_comparing = 0.05;  // of a sample's time
constexpr std::uint64_t most_every = 64;
// Of a load's transfers in a short sample: four wait behind a gate, and the next sample waits for their end.
constexpr std::uint64_t short_load_divisor = 4;
constexpr std::uint64_t seed_base = 0x6c696e6b6d617472;  // any constant: each verified cell adds its own number

/// How much of a span others kept running.
double covered(const Span& span, const Span& load) {
  const double shared = std::min(span.end, load.end) - std::max(span.start, load.start);
  return std::clamp(shared / span.seconds(), 0.0, 1.0);
}

/// Every so many-th block is compared, where all of them take so long after a run of that length; one of each copy at
/// least.
std::uint64_t every_for(double comparing, double running, const std::vector<Copy>& copies) {
  std::uint64_t most = most_every;
  for (const Copy& copy : copies)
    if (!copy.background) most = std::min(most, std::max<std::uint64_t>(1, copy.bytes / Portion::block_bytes));
  const double every = std::round(comparing / (share_for_comparing * std::max(running, 1e-9)));
  return static_cast<std::uint64_t>(std::clamp(every, 1.0, static_cast<double>(most)));
}

void check_clock(const CopyTime& time) {
  const double seconds = time.span.seconds();
  if (!(seconds > 0) || !std::isfinite(seconds))
    throw DeviceError("a copy was timed at " + std::to_string(seconds) + " s: the clock is wrong");
}

}  // namespace

/// Cells that are sampled at once, their copies in a row, and what is known of them.
struct CopySampler::Group {
  std::vector<std::size_t> cells;  ///< indices
  std::vector<Sampled*> answers;
  std::vector<Copy> copies;
  std::vector<std::size_t> owner;  ///< of each copy: which of `cells`
  std::uint64_t offset = 0;        ///< of all copies, where their buffers begin
  Portion portion{};               ///< that is compared after the next run
  std::uint64_t runs_compared = 0;

  /// Calls `work` with the copies that are compared and, for each, its number in the group. What fails is told by that.
  template <class Work>
  auto of_measured(const Work& work) const {
    std::vector<Copy> measured;
    std::vector<std::size_t> numbers;
    for (std::size_t c = 0; c < copies.size(); ++c)
      if (!copies[c].background) measured.push_back(copies[c]), numbers.push_back(c);
    try {
      return work(measured, numbers);
    } catch (const CopiesFailed& failure) {
      std::vector<CopiesFailed::Failure> failures = failure.failures();
      for (auto& one : failures) one.copy = numbers.at(one.copy);
      throw CopiesFailed(failure.what(), failures);
    }
  }
};

CopySampler::CopySampler(Backend& backend, std::vector<CopyCell> cells, Metric metric, int warmup, bool stress,
                         Deadline deadline)
    : backend_{backend}, cells_{std::move(cells)}, metric_{metric}, warmup_{warmup}, stress_{stress}, lost_{backend} {
  for (std::size_t i = 0; i < cells_.size(); ++i) index_[{cells_[i].row, cells_[i].column}] = i;
  prepare(deadline);
}

/// Makes the buffers of all cells; without those of an endpoint that cannot have them.
void CopySampler::prepare(Deadline deadline) {
  const InPhase phase(RunPhase::allocation);
  for (;;) {
    std::vector<Copy> all;
    for (const CopyCell& cell : cells_)
      if (!lost_.of(cell.copies))
        for (const Copy& copy : cell.copies)
          if (!lost_.has(copy)) all.push_back(copy);
    if (all.empty()) return;
    try {
      return backend_.prepare(all, deadline);
    } catch (const CopiesFailed& failure) {
      const std::size_t before = lost_.size();
      for (const auto& one : failure.failures())
        if (one.endpoint) lost_.add(*one.endpoint, one.status, failure.what(), one.loss);
      if (lost_.size() == before) throw DeviceError(failure.what());  // it would fail again and again
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
      if (const auto endpoint = lost_.of(cells_[index].copies)) {
        answers[k].status = lost_as(round[k]);
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
    SampleRule now = rule;  // who hung has used up the others' time
    if (allowed < unlimited) now.until = earlier(Deadline::in(allowed), rule.limit);
    sample_together(group, now);
    std::erase_if(open, [&](std::size_t k) { return answers[k].status != CellStatus::not_run; });
  }
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].is_unseen()) unseen_.emplace(index_.at(round[k]), answers[k]).first->second.visibility.reset();
  return answers;
}

/// Where some fail, the others are not run yet.
void CopySampler::sample_together(Group& group, const SampleRule& rule) {
  std::vector<std::string> left;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    left.push_back(lost_.what_is_left_of(cells_[group.cells[k]].copies));
    for (Copy copy : cells_[group.cells[k]].copies) {
      if (lost_.has(copy)) continue;  // of a load, or of a fan; the record says which endpoint is lost
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
  } catch (const CopiesFailed& failure) {  // what was not compared is no value: the engine tries it once more
    blame(group, group.owner, failure);
  }
}

/// Whether what each run of the copies brings can be compared: a chain brings nothing.
bool CopySampler::are_runs_compared(const std::vector<Copy>& copies) const {
  return backend_.compares_runs() && std::ranges::none_of(copies, &Copy::is_chain);
}

/// The cells of the copies that failed end so; the others are to be sampled anew, and so are those which can do without
/// what was lost.
void CopySampler::blame(Group& group, const std::vector<std::size_t>& owners, const CopiesFailed& failure) {
  std::set<std::size_t> failed;
  bool is_news = false;
  for (const auto& one : failure.failures())
    if (one.endpoint) is_news = lost_.add(*one.endpoint, one.status, failure.what(), one.loss) || is_news;
  for (const auto& one : failure.failures()) {
    const std::size_t owner = owners.at(one.copy);
    if (is_news && one.endpoint && !lost_.of(cells_[group.cells[owner]].copies)) continue;
    failed.insert(owner);
    *group.answers[owner] = {};
    group.answers[owner]->status = one.status;
    group.answers[owner]->why = failure.what();
  }
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    if (failed.contains(k)) continue;
    *group.answers[k] = {};
    // a failure that blames nobody is everybody's
    group.answers[k]->status = failed.empty() && !is_news ? CellStatus::error : CellStatus::not_run;
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
  if (warm_up) look_at_visibility(group, *warm_up);
  if (given_up() && append(group, *warm_up, true)) return;  // another run would wait as long
  const bool compares = rule.verify && rule.divide_bytes_by == 1 && are_runs_compared(group.copies);
  if (compares) lay_patterns(group, rule);
  for (int rejected = 0; !any() || (!done() && !rule.enough.passed() && !given_up());) {
    if (rule.transfers > 0) next_window(group, rule);
    const auto run_began = Clock::now();
    const Timeline timeline = backend_.run(group.copies, rule.until);
    look_at_visibility(group, timeline);
    if (compares) compare_run(group, rule, timeline, seconds_since(run_began));
    if (std::exchange(is_new, false) && choose_again(group, timeline, rule)) {
      group.portion = {}, group.runs_compared = 0;  // that run was shorter than the next ones
      continue;
    }
    if (!append(group, timeline, rejected >= most_rejected)) ++rejected;
  }
}

/// Short samples go through the whole buffer, so that none finds its bytes in a cache.
void CopySampler::next_window(Group& group, const SampleRule& rule) {
  const std::uint64_t window = windows_++ % rule.divide_bytes_by;
  for (Copy& copy : group.copies) copy.offset = group.offset + window * copy.bytes;
}

/// The repeats of the last sampling, where the cell had as many copies.
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

/// Returns the warm-up. Without one each transfer is a sample, the first one too.
std::optional<Timeline> CopySampler::choose_repeats(Group& group, const SampleRule& rule) {
  if (rule.transfers > 0) next_window(group, rule);
  if (rule.transfers > 0) return find_repeats_of(backend_, group.copies, rule.transfers, rule.until);
  for (Copy& copy : group.copies) copy.repeats = 1;
  std::optional<Timeline> warm_up;
  if (warmup_ > 0)
    warm_up =
        find_repeats(backend_, group.copies, cells_[group.cells.front()].copies, even_sets(group), warmup_, rule.until);
  keep_repeats(group, rule);
  return warm_up;
}

bool CopySampler::choose_again(Group& group, const Timeline& timeline, const SampleRule& rule) {
  if (warmup_ == 0 || rule.transfers > 0) return false;
  const std::vector<Copy>& first = cells_[group.cells.front()].copies;
  if (!lengthen_repeats(backend_, group.copies, first, even_sets(group), timeline, rule.until)) return false;
  keep_repeats(group, rule);
  return true;
}

/// Only for whole samples; the smaller transfers of the overhead fit are not comparable.
void CopySampler::keep_repeats(const Group& group, const SampleRule& rule) {
  if (rule.divide_bytes_by != 1) return;
  for (const std::size_t cell : group.cells) repeats_[cell].clear();
  for (std::size_t c = 0; c < group.copies.size(); ++c)
    repeats_[group.cells[group.owner[c]]].push_back(group.copies[c].repeats);
}

/// Copies that are to be busy over the same time, by number: of a stress all, else both ways of each cell.
std::vector<std::vector<std::size_t>> CopySampler::even_sets(const Group& group) const {
  std::vector<std::vector<std::size_t>> sets;
  if (!stress_ && metric_ != Metric::bidirectional) return sets;
  sets.resize(stress_ ? 1 : group.cells.size());
  for (std::size_t c = 0; c < group.copies.size(); ++c)
    if (!group.copies[c].background) sets[stress_ ? 0 : group.owner[c]].push_back(c);
  return sets;
}

/// Of each cell, whether its copies did, and what is to load them was there by then: of a stress all others.
std::vector<bool> CopySampler::began_together(const Group& group, const Timeline& timeline) const {
  if (timeline.timing != Timing::gate) return std::vector<bool>(group.cells.size(), true);
  std::vector<bool> together;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    std::vector<Span> spans;
    for (std::size_t c = 0; c < group.copies.size(); ++c)
      if (!group.copies[c].background && (group.owner[c] == k || stress_)) spans.push_back(timeline.copies[c].span);
    const Span whole = hull(spans);
    for (std::size_t c = 0; c < group.copies.size(); ++c) {
      if (!group.copies[c].background || group.owner[c] != k) continue;
      const double begun = std::max(whole.start, timeline.copies[c].span.start);  // before is as good
      spans.push_back({begun, begun + whole.seconds()});
    }
    together.push_back(started_together(spans));
  }
  return together;
}

/// A sample of each cell; nothing where the copies of one did not start together, unless `whatever` is to be taken.
bool CopySampler::append(Group& group, const Timeline& timeline, bool whatever) {
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
  const std::vector<bool> together = began_together(group, timeline);
  if (!whatever && std::find(together.begin(), together.end(), false) != together.end()) return false;
  std::size_t at = 0;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    Sampled& answer = *group.answers[k];
    const std::vector<Span>& spans = measured[k];
    Sample sample;
    sample.whole = hull(spans);
    for (std::size_t way = 0; way < std::min(sample.ways.size(), spans.size()); ++way) sample.ways[way] = spans[way];
    sample.slowest = *std::max_element(spans.begin(), spans.end(),
                                       [](const Span& a, const Span& b) { return a.seconds() < b.seconds(); });
    sample.enqueue_seconds = timeline.copies[at].enqueue_seconds;
    const std::vector<double>& transfers = made[k];
    answer.transfers = std::accumulate(transfers.begin(), transfers.end(), 0.0) / static_cast<double>(transfers.size());
    for (std::size_t way = 0; metric_ == Metric::bidirectional && way < transfers.size(); ++way)
      answer.way_share.at(way) = transfers[way] / answer.transfers;
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

/// Of every run, whether it is a sample or not: a wrong word is wrong. One that was broken off is late, no more.
void CopySampler::look_at_visibility(Group& group, const Timeline& timeline) {
  for (std::size_t c = 0; c < group.copies.size(); ++c) {
    if (!timeline.copies[c].visibility) continue;
    Sampled& answer = *group.answers[group.owner[c]];
    if (!answer.visibility) answer.visibility.emplace();
    answer.visibility->add(*timeline.copies[c].visibility);
    if (answer.visibility->holds() && answer.visibility->broken_off == 0) continue;
    answer.status = answer.visibility->holds() ? CellStatus::timeout : CellStatus::corrupt;
    answer.why = sentence_of(*answer.visibility, label(group.copies[c].source), label(group.copies[c].destination));
  }
}

void CopySampler::lay_patterns(Group& group, const SampleRule& rule) {
  group.of_measured([&](const std::vector<Copy>& copies, const auto&) { backend_.lay_patterns(copies, rule.until); });
}

/// Applies a simulated fault to this run: corrupts data at the destination.
void CopySampler::poison_some(Group& group, const SampleRule& rule) {
  if (!simulated_fault_.has) return;
  std::vector<Copy> poisoned;
  for (std::size_t k = 0; k < group.cells.size(); ++k) {
    if (++fault_counts_[group.cells[k]] % simulated_fault_.every != 0) continue;
    for (std::size_t c = 0; c < group.copies.size(); ++c)
      if (group.owner[c] == k && !group.copies[c].background && simulated_fault_.has(group.copies[c]))
        poisoned.push_back(group.copies[c]);
  }
  if (!poisoned.empty()) backend_.lay_patterns(poisoned, rule.until);
}

/// Whether it is a sample or not: a wrong byte is wrong. The first time all is compared, and timed; then as much as
/// fits a share of the sample's time, other blocks each time. The next run reads from the other window of each source.
void CopySampler::compare_run(Group& group, const SampleRule& rule, const Timeline& timeline, double run_seconds) {
  const InPhase phase(RunPhase::verification);
  poison_some(group, rule);
  const auto began = Clock::now();
  group.of_measured([&](const std::vector<Copy>& copies, const std::vector<std::size_t>& numbers) {
    const auto checks = backend_.compare(copies, group.portion, rule.until);
    std::vector<Coverage> run(group.cells.size());
    for (std::size_t c = 0; c < checks.size(); ++c) {
      const std::size_t owner = group.owner[numbers[c]];
      run[owner].transfers += static_cast<std::uint64_t>(timeline.copies[numbers[c]].transfers);
      run[owner].compared_transfers += 1;
      run[owner].compared_share += 1.0 / static_cast<double>(group.portion.every);
      run[owner].samples = 1;
      if (checks[c].wrong_bytes == 0) continue;
      run[owner].wrong_samples = 1;
      condemn(*group.answers[owner], checks[c]);
    }
    for (std::size_t k = 0; k < group.cells.size(); ++k) {
      group.answers[k]->coverage += run[k];
      group.answers[k]->verified = true;
    }
  });
  if (group.runs_compared == 0) group.portion.every = every_for(seconds_since(began), run_seconds, group.copies);
  group.portion.first = ++group.runs_compared % group.portion.every;
  for (Copy& copy : group.copies)
    if (!copy.background) copy.shift = source_windows - copy.shift;
}

/// What was found first is told.
void CopySampler::condemn(Sampled& answer, const PatternCheck& check) {
  if (answer.status != CellStatus::corrupt)
    answer.why = std::to_string(check.wrong_bytes) + " wrong bytes arrived, the first at offset " +
                 std::to_string(check.first_wrong);
  answer.status = CellStatus::corrupt;
}

/// Of what has no runs that can be compared: one copy more, after the samples.
void CopySampler::verify(Group& group, const SampleRule& rule) {
  const InPhase phase(RunPhase::verification);
  group.of_measured([&](const std::vector<Copy>& copies, const std::vector<std::size_t>& numbers) {
    const auto checks = backend_.verify(copies, seed_base + group.cells.front() * 1000003, rule.until);
    for (Sampled* answer : group.answers) answer->verified = true;
    for (std::size_t c = 0; c < checks.size(); ++c)
      if (checks[c].wrong_bytes > 0) condemn(*group.answers[group.owner[numbers[c]]], checks[c]);
  });
}

std::vector<int> CopySampler::resources(const Place& place) const {
  std::set<int> out;  // the two directions of one cell may share
  for (const Copy& copy : cell(place).copies)
    for (const int resource : backend_.resources(copy)) out.insert(resource);
  return {out.begin(), out.end()};
}

std::vector<Path> CopySampler::paths(const Place& place) const {
  std::vector<Path> paths;
  for (const Copy& copy : cell(place).copies)
    if (!copy.background) paths.push_back({label(copy.source), label(copy.destination)});
  return paths;
}

std::string CopySampler::label(int endpoint) const {
  return backend_.endpoints().at(static_cast<std::size_t>(endpoint)).label;
}

bool CopySampler::is_there(const Place& place) const { return !lost_.of(cell(place).copies); }

CellStatus CopySampler::lost_as(const Place& place) const {
  const auto endpoint = lost_.of(cell(place).copies);
  return endpoint ? lost_.status(*endpoint) : CellStatus::error;
}

}  // namespace linkmatrix
