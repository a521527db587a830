#include "measure/short_samples.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/schedule.hpp"
#include "core/units.hpp"
#include "measure/comparison.hpp"

namespace linkmatrix {
namespace {

// Of 72 samples each pass takes 6. If a tenth is slow, 99.4 % of cells are slow in two passes or more.
constexpr std::size_t most_passes = 12;
// The 4 to 11 µs that a copy costs are 2 to 6 % of this, and the same in each sample; 72 last 14 ms.
constexpr double short_seconds = 0.0002;
constexpr std::uint64_t least_bytes = 8 * MiB;  // of smaller copies a cache decides, and not the link
constexpr std::size_t most_reasons = 5;

}  // namespace

ShortSamples::ShortSamples(Context& context, const Rounds& rounds) : context_{context}, rounds_{rounds} {
  const int asked = context.options().short_samples;
  if (asked == 0) return;
  context.store().change([&](MatrixResult& result) { result.short_samples.emplace().asked = asked; });
  const MatrixDescription& shape = context.shape();
  if (std::max(shape.rows.size(), shape.columns.size()) <= most_sampled)
    asked_ = static_cast<std::size_t>(asked);
  else
    context.note("no short samples: a record keeps them of up to " + std::to_string(most_sampled) + " endpoints");
}

void ShortSamples::learn(const std::vector<Sampled>& answers) {
  if (asked_ == 0) return;
  for (const Sampled& answer : answers) {
    if (answer.samples.empty()) continue;
    std::vector<double> seconds;
    for (const Sample& sample : answer.samples) seconds.push_back(sample.whole.seconds() / answer.transfers);
    seconds_.push_back(median(std::move(seconds)));
    copies_ = std::max(copies_, answer.copies);
  }
}

void ShortSamples::split(std::size_t round, std::size_t cells_at_once) {
  const auto [known, is_new] = widths_.try_emplace(round, cells_at_once);
  known->second = std::min(known->second, cells_at_once);
}

/// One for the whole matrix, from its median cell. Copies of one cell start a few µs apart: they get twice the time.
void ShortSamples::choose_size() {
  const MatrixDescription& shape = context_.shape();
  const double seconds = median(seconds_), wanted = short_seconds * (copies_ > 1 ? 2 : 1);
  transfers_ = static_cast<int>(std::clamp(std::floor(wanted / seconds), 1.0, 1e6));
  if (shape.metric != Metric::latency && shape.size_bytes >= least_bytes && seconds > wanted)
    divisor_ = std::min(std::bit_ceil(static_cast<std::uint64_t>(std::ceil(seconds / wanted))),
                        std::bit_floor(shape.size_bytes / least_bytes));
  context_.store().change([&](MatrixResult& result) {
    result.short_samples->bytes = shape.size_bytes / divisor_;
    result.short_samples->transfers = transfers_;
  });
}

void ShortSamples::take(double share, std::size_t cells_at_once) {
  if (asked_ == 0 || seconds_.empty()) return;
  if (transfers_ == 0) choose_size();
  const std::size_t passes = std::min(asked_, most_passes);
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(passes)));
  for (; taken_ < wanted && !context_.out_of_time(); ++taken_)
    take_pass(asked_ * (taken_ + 1) / passes - asked_ * taken_ / passes, cells_at_once);
}

void ShortSamples::take_pass(std::size_t samples, std::size_t cells_at_once) {
  const double began = context_.seconds();
  context_.store().change([&](MatrixResult& result) {
    result.short_samples->passes.push_back({began, began, {result.rows.size(), result.columns.size()}});
  });
  for (std::size_t r = 0; r < rounds_.count(); ++r) {
    const auto width = widths_.find(r);
    const std::size_t at_once = width == widths_.end() ? cells_at_once : std::min(cells_at_once, width->second);
    for (const Round& part : split_rounds<Place>({rounds_.at(r)}, at_once)) {
      const Round cells = cells_to_sample(part);
      if (cells.empty()) continue;
      if (context_.out_of_time()) return;
      const auto answers = context_.sample(
          cells, {.stop = exactly(static_cast<int>(samples)), .divide_bytes_by = divisor_, .transfers = transfers_});
      for (std::size_t k = 0; k < cells.size(); ++k) keep(cells[k], answers[k]);
    }
  }
}

/// Those that have a value, and did not fail since.
Round ShortSamples::cells_to_sample(const Round& part) const {
  Round cells;
  std::ranges::copy_if(part, std::back_inserter(cells), [&](const Place& place) {
    return context_.store().value(place) && context_.sampler().is_there(place) && !failed_.contains(place);
  });
  return cells;
}

void ShortSamples::keep(const Place& place, const Sampled& answer) {
  const bool is_same = answer.status == CellStatus::ok || answer.status == context_.store().status(place);
  if (!is_same || answer.samples.empty()) {
    failed_.insert(place);
    reasons_.push_back(context_.name(place) + ": " + answer.why);
    return;
  }
  const double now = context_.seconds();
  context_.store().change([&](MatrixResult& result) {
    ShortSampleSet::Pass& pass = result.short_samples->passes.back();
    for (const auto& [r, c] : places_of(result, place)) pass.values(r, c) = values_of(result.metric, answer);
    pass.ended = now;
  });
}

void ShortSamples::note() {
  if (asked_ == 0) return;
  std::vector<std::size_t> counts;
  context_.store().change([&](const MatrixResult& result) { counts = result.short_sample_counts(); });
  const auto fewer = std::ranges::count_if(counts, [this](std::size_t count) { return count < asked_; });
  if (fewer > 0)
    context_.note(std::to_string(fewer) + " of " + std::to_string(counts.size()) + " cells have fewer than " +
                  std::to_string(asked_) + " short samples, the fewest " +
                  std::to_string(*std::ranges::min_element(counts)) +
                  (context_.out_of_time() ? ": the time for this matrix was over (--max-time)" : ""));
  for (std::size_t k = 0; k < std::min(reasons_.size(), most_reasons); ++k)
    context_.note("a short sample failed: " + reasons_[k]);
}

}  // namespace linkmatrix
