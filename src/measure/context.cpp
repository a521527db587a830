#include "measure/context.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/schedule.hpp"

namespace linkmatrix {
namespace {

// Default targets of the relative half width of a median's interval. Links between GPUs have StopRule::target.
// Latencies are close to the resolution of clocks, and host memory and networks have other users. Their target is four
// times as large.
constexpr double noisy_target_factor = 4;
// GPUs with host memory: 90 % of 68 cells are within 2.3 % in tests/data/h200x4_full.record.json (4 × H200, idle).
constexpr double host_memory_target = 0.025;
// Memory of CPUs, and ranks on one node: 90 % of 24 cells are within 2.3 % and the worst has 2.7 % in
// tests/data/cpu16_ranks_quiet.record.json (4 ranks on a quiet node with 16 cores).
constexpr double cpu_memory_target = 0.03;
constexpr std::string_view class_between_nodes = "NET", class_with_itself = "X", all_classes = "all";
constexpr double share_for_samples = 0.5;  // fraction of --pair-timeout; the rest is for the last samples and the data

MatrixDescription description_of(Store& store) {
  MatrixDescription description;
  store.change([&](const MatrixResult& result) { description = result; });
  return description;
}

}  // namespace

Context::Context(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store)
    : sampler_{sampler},
      work_{work},
      options_{options},
      deadline_{deadline},
      soft_{Deadline::in(options.max_seconds)},
      store_{store},
      description_{description_of(store)},
      stop_{options.stop} {
  std::map<std::string, double> targets;
  for (std::size_t r = 0; r < description_.link_class.rows(); ++r)
    for (std::size_t c = 0; c < description_.link_class.columns(); ++c)
      if (const std::string& name = description_.link_class(r, c); !name.empty() && name != class_with_itself)
        targets[name] = interval_target(name);
  if (targets.empty()) targets[std::string(all_classes)] = interval_target("");
  // Cells of a round end together, so the strictest target applies to all.
  stop_.target = std::ranges::min_element(targets, {}, [](const auto& one) { return one.second; })->second;
  if (std::isfinite(stop_.target)) store_.change([&](MatrixResult& result) { result.targets = targets; });
}

double Context::interval_target(std::string_view link_class) const {
  if (options_.is_target_given) return options_.stop.target;
  const bool through_host = description_.memory == Memory::host || description_.peer_access == false;
  const bool is_noisy = description_.metric == Metric::latency || through_host;
  const double target = options_.stop.target * (is_noisy ? noisy_target_factor : 1);
  if (options_.in_cpu_memory && link_class != class_between_nodes) return std::max(target, cpu_memory_target);
  return link_class == "HOST" ? std::max(target, host_memory_target) : target;
}

StopRule Context::stop() const {
  StopRule stop = stop_;
  if (out_of_time()) stop.min_samples = stop.max_samples = 1;
  return stop;
}

std::vector<Sampled> Context::sample(const Round& round, const SamplingRequest& request) {
  if (deadline_.passed()) throw TimedOut("the matrix was not finished within --timeout");
  SampleRule rule;
  rule.stop = request.stop;
  rule.verify = request.counts && options_.verify;
  rule.divide_bytes_by = request.divide_bytes_by;
  rule.enough = earlier(earlier(soft_, deadline_), Deadline::in(options_.cell_timeout * share_for_samples));
  rule.until = earlier(Deadline::in(options_.cell_timeout), deadline_);
  rule.limit = deadline_;
  rule.warm = request.warm;
  rule.transfers = request.transfers;
  const double began = seconds();
  std::vector<Sampled> answers;
  try {
    answers = sampler_.sample(round, rule);
  } catch (const std::exception& e) {
    const bool late = dynamic_cast<const TimedOut*>(&e) != nullptr;
    for (const CellIndex& index : round) store_.mark(index, late ? CellStatus::timeout : CellStatus::error);
    record_lost_endpoints();
    throw;
  }
  for (Sampled& answer : answers) answer.round = request.round, answer.began = began, answer.ended = seconds();
  record_lost_endpoints();
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].visibility) add_visibility(round[k], *answers[k].visibility);
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].coverage.samples > 0) add_coverage(round[k], answers[k].coverage);
  for (std::size_t k = 0; k < round.size(); ++k)
    if (answers[k].status == CellStatus::corrupt)
      mark_corrupt(round[k], answers[k]);
    else
      apply_proven_error(round[k], answers[k]);
  if (deadline_.passed()) {  // a remeasurement keeps the existing values
    for (std::size_t k = 0; k < round.size() && request.counts; ++k)
      if (answers[k].status != CellStatus::corrupt && !store_.value(round[k])) store_value(round[k], answers[k]);
    throw TimedOut("the matrix was not finished within --timeout");
  }
  return answers;
}

void Context::add_visibility(const CellIndex& index, const Visibility& seen) {
  store_.change([&](MatrixResult& result) {
    const auto add = [&](const char* name, const char* title, const char* unit, std::uint64_t more) {
      std::optional<double>& cell = result.part(name, title, unit)(index.row, index.column);
      cell = cell.value_or(0) + static_cast<double>(more);
    };
    add("rounds", "rounds checked", "rounds", seen.rounds);
    add("wrong_words", "stale words after a visible flag", "words", seen.wrong_words);
    add("unseen", "flags and answers that never became visible", "flags", seen.unseen_flags + seen.unseen_answers);
  });
}

void Context::add_coverage(const CellIndex& index, const Coverage& coverage) {
  store_.change([&](MatrixResult& result) {
    result.coverage += coverage;
    // A large matrix stores the coverage of a cell only from the first wrong sample on.
    const bool is_large = result.rows.size() > most_sampled;
    if (is_large && coverage.wrong_samples == 0 && !compared_.contains(index)) return;
    Coverage& cell = compared_[index] += coverage;
    if (cell.wrong_samples > 0) result.corrupted[{index.row, index.column}] = cell;
  });
}

/// Marks a cell as corrupt permanently. Its value remains.
void Context::mark_corrupt(const CellIndex& index, const Sampled& sampled) {
  corrupt_.insert(index);
  if (!store_.value(index)) return store_value(index, sampled);
  store_.mark(index, CellStatus::corrupt);
  note(name(index) + ": " + sampled.why);
}

/// Removes the value of a cell with a proven error. Replaces the results of later samplings by this error.
void Context::apply_proven_error(const CellIndex& index, Sampled& sampled) {
  if (sampled.is_proven) sampled.samples.clear();
  if (sampled.is_proven && proven_errors_.emplace(index, sampled).second) {
    store_.fail(index, CellStatus::error);
    note(name(index) + ": " + sampled.why);
  }
  if (has_proven_error(index)) sampled = proven_errors_.at(index);
}

void Context::store_value(const CellIndex& index, const Sampled& sampled) {
  const std::vector<double> values = values_of(description_.metric, sampled);
  if (sampled.status == CellStatus::corrupt) corrupt_.insert(index);
  const bool timed_out = sampled.status == CellStatus::timeout, failed = sampled.status == CellStatus::error;
  if (values.empty() || timed_out || failed) {  // a cell without a value becomes corrupt with its next value
    store_.mark(index, timed_out ? CellStatus::timeout : CellStatus::error);
    if (sampled.status == CellStatus::corrupt) note(name(index) + ": " + sampled.why);
    return;
  }
  const Interval interval = median_interval(values);
  CellValue cell;
  cell.status = corrupt_.contains(index) ? CellStatus::corrupt : sampled.status;
  cell.value = median(values);
  cell.low = interval.low;
  cell.high = interval.high;
  cell.samples = static_cast<int>(values.size());
  StopRule rule = stop_;
  rule.target = interval_target(link_class(index));
  cell.converged = rule.converged(values);
  cell.verified = sampled.verified;
  cell.round = sampled.round;
  cell.began = sampled.began;
  cell.ended = sampled.ended;
  if (description_.metric == Metric::bidirectional)
    for (std::size_t direction = 0; direction < cell.directions.size(); ++direction) {
      std::vector<double> rates;
      for (const Sample& sample : sampled.samples) rates.push_back(direction_bandwidth(sampled, sample, direction));
      cell.directions[direction] = median(std::move(rates));
    }
  std::vector<double> enqueue, slowest;
  for (const Sample& sample : sampled.samples) {
    enqueue.push_back(sample.enqueue_seconds * 1e6);
    slowest.push_back(static_cast<double>(description_.size_bytes) * sampled.transfers / sample.slowest.seconds() *
                      1e-9);
  }
  if (description_.metric == Metric::latency && median(enqueue) > 0) cell.enqueue_us = median(std::move(enqueue));
  if (description_.metric == Metric::bandwidth && sampled.copies > 1) cell.slowest_copy = median(std::move(slowest));
  cell.sampled = values;
  store_.put(index, cell);
  check_irregularities(index, sampled);
}

/// Collects irregularities that change the meaning of a value.
void Context::check_irregularities(const CellIndex& index, const Sampled& sampled) {
  if (sampled.status == CellStatus::corrupt) note(name(index) + ": " + sampled.why);
  if (sampled.status == CellStatus::partial) partial_[sampled.why].push_back(name(index));
  if (!sampled.started_together) not_concurrent_.push_back(name(index));
  if (description_.metric == Metric::bidirectional) check_uneven_directions(index, sampled);
  double least = 1;
  for (const Sample& sample : sampled.samples) least = std::min(least, sample.loaded_share);
  if (least < least_loaded_share)
    early_.push_back(name(index) + " after " + std::to_string(static_cast<int>(100 * least)) + " %");
}

/// The slower direction runs alone at the end and is then faster. The sum of both directions is therefore too high.
void Context::check_uneven_directions(const CellIndex& index, const Sampled& sampled) {
  std::vector<double> shares;
  for (const Sample& sample : sampled.samples) {
    const double there = sample.directions[0].seconds(), back = sample.directions[1].seconds();
    shares.push_back(std::min(there, back) / std::max(there, back));
  }
  if (median(shares) < least_loaded_share)
    uneven_.push_back(name(index) + " after " + std::to_string(static_cast<int>(100 * median(shares))) + " %");
}

std::string Context::shortened_list(const std::vector<std::string>& cells) {
  const std::size_t more = cells.size() - 1;
  return cells.front() + (more == 0 ? "" : " and " + std::to_string(more) + (more == 1 ? " more cell" : " more cells"));
}

void Context::note_irregularities() {
  for (const auto& [who, cells] : partial_)
    note("partial result, because endpoints took no part: " + shortened_list(cells) + ": " + who);
  if (!not_concurrent_.empty())
    note(
        "concurrent copies did not start together, so their sum is over the time from the first start to the last "
        "end: " +
        shortened_list(not_concurrent_));
  if (!uneven_.empty())
    note("one direction ended before the other direction; the sum of both directions may be too high: " +
         shortened_list(uneven_));
  if (!early_.empty())
    note("the load of a cell ended early; the value under load may be too high: " + shortened_list(early_));
}

double Context::median_of(const Sampled& sampled) const { return median(values_of(description_.metric, sampled)); }

std::vector<Round> Context::disjoint(const Round& cells) const {
  std::vector<Round> rounds;
  for (const auto& items : pack_rounds(cells.size(), [&](std::size_t i) { return sampler_.resources(cells[i]); })) {
    Round& round = rounds.emplace_back();
    for (const std::size_t i : items) round.push_back(cells[i]);
  }
  return rounds;
}

std::string Context::name(const CellIndex& index) const {
  return description_.rows.at(index.row) + "->" + description_.columns.at(index.column);
}

std::string_view Context::link_class(const CellIndex& index) const {
  if (description_.link_class.empty()) return {};
  return description_.link_class(index.row, index.column);
}

void Context::record_interference(double interference) {
  store_.change([&](MatrixResult& result) {
    result.schedule.interference = std::max(result.schedule.interference.value_or(0), interference);
  });
}

void Context::note(std::string text) {
  store_.change([&](MatrixResult& result) {
    if (std::find(result.notes.begin(), result.notes.end(), text) == result.notes.end())
      result.notes.push_back(std::move(text));
  });
}

void Context::record_lost_endpoints() {
  for (const Lost& lost : sampler_.take_lost()) store_.add_lost(lost);
}

}  // namespace linkmatrix
