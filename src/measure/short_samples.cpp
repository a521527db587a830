#include "measure/short_samples.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/schedule.hpp"
#include "core/units.hpp"
#include "measure/calibration.hpp"

namespace linkmatrix {
namespace {

// Each pass takes 6 of 72 samples. If a tenth of the samples is slow, 99.4 % of cells are slow in two or more passes.
constexpr std::size_t most_passes = 12;
constexpr double share_in_rounds = 0.8;  // fraction of the passes during the rounds; the others follow remeasurements
constexpr double budget = 0.12;          // short samples may add this fraction to the time of normal samples
// Shortest and longest sample in seconds. Each copy has a fixed overhead of 4 to 11 µs, which must not hide a link at
// half speed: with the shortest sample, 42 µs of transfer become 84 µs, so the sample is at least 40 % slower.
constexpr double longest = 0.0002, shortest = 0.00005;
constexpr std::uint64_t least_bytes = 8 * MiB;  // smaller copies measure a cache instead of the link
constexpr int trial_samples = 3;
constexpr std::size_t most_reasons = 5;

}  // namespace

ShortSamples::ShortSamples(Context& context, const Rounds& rounds) : context_{context}, rounds_{rounds} {
  const int asked = context.options().short_samples;
  if (asked == 0) return;
  context.store().change([&](MatrixResult& result) { result.short_samples.emplace().asked = asked; });
  const MatrixDescription& matrix = context.description();
  if (std::max(matrix.rows.size(), matrix.columns.size()) <= most_sampled)
    asked_ = static_cast<std::size_t>(asked);
  else
    context.note("no short samples: a record contains them only for up to " + std::to_string(most_sampled) +
                 " endpoints");
  passes_ = std::min(asked_, most_passes);
}

/// Assumes that every part takes about as long as the first.
void ShortSamples::learn(const Round& cells, const std::vector<Sampled>& answers) {
  if (asked_ == 0 || !first_.empty()) return;
  std::vector<double> seconds;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const Sampled& answer = answers[k];
    if (answer.samples.empty()) continue;
    std::vector<double> of_cell;
    for (const Sample& sample : answer.samples) of_cell.push_back(sample.whole.seconds() / answer.transfers);
    seconds.push_back(median(std::move(of_cell)));
    copies_ = std::max(copies_, answer.copies);
    first_.push_back(cells[k]);
    allowed_ = budget * (answer.ended - answer.began) / static_cast<double>(asked_);
  }
  if (!first_.empty()) transfer_seconds_ = median(std::move(seconds));
}

void ShortSamples::split(std::size_t round, std::size_t concurrent_cells) {
  const auto [known, is_new] = widths_.try_emplace(round, concurrent_cells);
  known->second = std::min(known->second, concurrent_cells);
  if (taken_ == 0) return;
  passes_ = taken_ + std::min(asked_, most_passes);
  context_.store().change([&](MatrixResult& result) {
    for (const CellIndex& cell : rounds_.at(round)) {
      counts_.erase(cell);
      for (ShortSampleSet::Pass& pass : result.short_samples->passes)
        for (const auto& [r, c] : value_places(result, cell)) pass.values(r, c).clear();
    }
  });
}

/// Chooses transfers and divisor for samples of `seconds`. Cells of several copies get twice the time, because their
/// copies start a few µs apart.
void ShortSamples::set_size(double seconds) {
  const MatrixDescription& matrix = context_.description();
  const double wanted = seconds * (copies_ > 1 ? 2 : 1);
  transfers_ = static_cast<int>(std::clamp(std::floor(wanted / transfer_seconds_), 1.0, 1e6));
  divisor_ = 1;
  if (matrix.metric != Metric::latency && matrix.size_bytes >= least_bytes && transfer_seconds_ > wanted)
    divisor_ = std::min(std::bit_ceil(static_cast<std::uint64_t>(std::ceil(transfer_seconds_ / wanted))),
                        std::bit_floor(matrix.size_bytes / least_bytes));
}

/// Chooses one size for the whole matrix. A trial with the first cells measures the total time of a short sample,
/// including the common start and the background load.
void ShortSamples::choose_size() {
  set_size(longest);
  const double began = context_.seconds();
  const auto answers = context_.sample(
      first_, {.stop = fixed_sample_count(trial_samples), .divide_bytes_by = divisor_, .transfers = transfers_});
  const double cost = (context_.seconds() - began) / (trial_samples + 1);  // with the warm-up
  if (cost > allowed_) set_size(std::max(shortest, longest * allowed_ / cost));
  for (std::size_t k = 0; k < first_.size(); ++k)
    if (answers[k].samples.empty()) fail(first_[k], answers[k]);
  context_.store().change([&](MatrixResult& result) {
    result.short_samples->bytes = result.size_bytes / divisor_;
    result.short_samples->transfers = transfers_;
  });
}

void ShortSamples::take(double measured, std::size_t concurrent_cells) {
  const double passes = share_in_rounds * measured * static_cast<double>(std::min(asked_, most_passes));
  take_until(static_cast<std::size_t>(std::ceil(passes)), measured, concurrent_cells);
}

void ShortSamples::take_rest(std::size_t concurrent_cells) { take_until(passes_, 1, concurrent_cells); }

void ShortSamples::take_until(std::size_t passes, double measured, std::size_t concurrent_cells) {
  if (asked_ == 0 || first_.empty()) return;
  const double until = measured * context_.options().max_seconds;
  for (; taken_ < passes && context_.seconds() < until; ++taken_) {
    if (transfers_ == 0) choose_size();
    take_pass(concurrent_cells);
  }
}

void ShortSamples::take_pass(std::size_t concurrent_cells) {
  const double began = context_.seconds();
  context_.store().change([&](MatrixResult& result) {
    result.short_samples->passes.push_back({began, began, {result.rows.size(), result.columns.size()}});
  });
  for (std::size_t r = 0; r < rounds_.count(); ++r) {
    const auto width = widths_.find(r);
    const std::size_t at_once = width == widths_.end() ? concurrent_cells : std::min(concurrent_cells, width->second);
    for (const Round& part : split_rounds<CellIndex>({rounds_.at(r)}, at_once)) {
      const Round cells = cells_to_sample(part);
      if (cells.empty()) continue;
      if (context_.out_of_time()) return;
      const auto answers = context_.sample(cells, {.stop = fixed_sample_count(static_cast<int>(due(cells))),
                                                   .divide_bytes_by = divisor_,
                                                   .transfers = transfers_});
      for (std::size_t k = 0; k < cells.size(); ++k) keep(cells[k], answers[k]);
    }
  }
}

/// Returns the samples per cell in the next pass. The cell with the fewest samples gets the requested number in equal
/// parts over the remaining passes.
std::size_t ShortSamples::due(const Round& cells) const {
  std::size_t most = 0;
  for (const CellIndex& cell : cells) {
    const auto count = counts_.find(cell);
    most = std::max(most, asked_ - (count == counts_.end() ? 0 : count->second));
  }
  const std::size_t left = passes_ - taken_;
  return (most + left - 1) / left;
}

/// Returns the cells that lack samples and did not fail.
Round ShortSamples::cells_to_sample(const Round& part) const {
  Round cells;
  std::ranges::copy_if(part, std::back_inserter(cells), [&](const CellIndex& cell) {
    const auto count = counts_.find(cell);
    const bool is_known = context_.store().value(cell) || context_.store().status(cell) == CellStatus::not_run;
    return is_known && context_.sampler().is_available(cell) && !failed_.contains(cell) &&
           (count == counts_.end() || count->second < asked_);
  });
  return cells;
}

void ShortSamples::keep(const CellIndex& cell, const Sampled& answer) {
  const CellStatus known = context_.store().status(cell);
  const bool is_same = answer.status == CellStatus::ok || answer.status == known || known == CellStatus::not_run;
  if (!is_same || answer.samples.empty()) return fail(cell, answer);
  std::vector<double> values = values_of(context_.description().metric, answer);
  std::size_t& count = counts_[cell];
  values.resize(std::min(values.size(), asked_ - count));
  count += values.size();
  const double now = context_.seconds();
  context_.store().change([&](MatrixResult& result) {
    ShortSampleSet::Pass& pass = result.short_samples->passes.back();
    for (const auto& [r, c] : value_places(result, cell)) pass.values(r, c) = values;
    pass.ended = now;
  });
}

void ShortSamples::fail(const CellIndex& cell, const Sampled& answer) {
  failed_.insert(cell);
  reasons_.push_back(context_.name(cell) + ": " + answer.why);
}

void ShortSamples::note() {
  if (asked_ == 0) return;
  std::vector<std::size_t> counts;
  context_.store().change([&](const MatrixResult& result) { counts = result.short_sample_counts(); });
  const auto fewer = std::ranges::count_if(counts, [this](std::size_t count) { return count < asked_; });
  if (fewer > 0)
    context_.note(std::to_string(fewer) + " of " + std::to_string(counts.size()) + " cells have fewer than " +
                  std::to_string(asked_) + " short samples; the smallest number is " +
                  std::to_string(*std::ranges::min_element(counts)) +
                  (context_.out_of_time() ? ": the time limit of this matrix passed (--max-time)" : ""));
  for (std::size_t k = 0; k < std::min(reasons_.size(), most_reasons); ++k)
    context_.note("a short sample failed: " + reasons_[k]);
}

}  // namespace linkmatrix
