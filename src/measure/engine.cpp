#include "measure/engine.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/schedule.hpp"
#include "measure/calibration.hpp"
#include "measure/context.hpp"
#include "measure/control_measurements.hpp"
#include "measure/remeasurement.hpp"
#include "measure/short_samples.hpp"

namespace linkmatrix {
namespace {

/// Measures the rounds of one matrix, one after the other.
class Measurement {
 public:
  Measurement(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store)
      : context_{sampler, work, options, deadline, store},
        control_measurements_{context_, work.rounds},
        short_samples_{context_, work.rounds} {}

  void run() {
    try {
      measure_all();
    } catch (...) {
      finish();
      throw;
    }
    finish();
  }

 private:
  const Rounds& rounds() const { return context_.work().rounds; }
  bool together() const { return context_.work().together || context_.work().stress; }

  void measure_all() {
    at_once_ = concurrent_cells();
    for (std::size_t r = 0; r < rounds().count(); ++r) {
      const std::vector<Round> parts = split_rounds<CellIndex>({rounds().at(r)}, at_once_);
      const double step = 1 / static_cast<double>(rounds().count() * parts.size());
      double measured = static_cast<double>(r) / static_cast<double>(rounds().count());
      for (const Round& part : parts) {
        measure_part(part, r, measured + step / 2);
        short_samples_.take(measured += step, at_once_);
      }
    }
    while (const auto part = control_measurements_.next_disturbed()) measure_halves(*part);
    if (!context_.store().can_remeasure()) {
      context_.note("outliers were not remeasured, because the matrix is too large");
      return;
    }
    retry(context_, at_once_);
    together() ? compare_with_isolated(context_) : remeasure_outliers(context_);
    short_samples_.take_rest(at_once_);
  }

  std::size_t concurrent_cells() {
    if (together()) return static_cast<std::size_t>(-1);
    Calibration calibration(context_, rounds());
    const std::size_t at_once = calibration.concurrent_cells();
    control_measurements_.exclude_round(calibration.calibrated_round());
    return at_once;
  }

  /// Measures cells concurrently. measured: fraction of the rounds that is complete afterwards.
  void measure_part(const Round& part, std::size_t round, double measured) {
    const auto [there, lost] = split_by_availability(part);
    for (const CellIndex& cell : lost) context_.store().mark(cell, context_.sampler().lost_status(cell));
    if (there.empty()) return;
    const std::vector<Sampled> answers =
        context_.sample(there, {.stop = context_.stop(), .counts = true, .round = round});
    for (std::size_t k = 0; k < there.size(); ++k) {
      context_.store_value(there[k], answers[k]);
      if (answers[k].status == CellStatus::timeout || answers[k].status == CellStatus::error)
        reasons_.push_back(context_.name(there[k]) + ": " + answers[k].why);
    }
    short_samples_.learn(there, answers);
    short_samples_.take(measured, at_once_);
    count_parts(there.size(), 1);
    if (!together()) control_measurements_.add(round, there, answers);
  }

  /// Discards the values of cells that disturb each other, and measures each half of the part.
  void measure_halves(const ControlMeasurements::Part& part) {
    ++split_;
    count_parts(part.cells.size(), -1);
    for (const CellIndex& cell : part.cells) context_.store().fail(cell, CellStatus::not_run);
    const std::size_t width = (part.cells.size() + 1) / 2;
    short_samples_.split(part.number, width);
    for (const Round& half : split_rounds<CellIndex>({part.cells}, width)) measure_part(half, part.number, 1);
  }

  /// Adds `parts` (1 or −1) to the number of accepted parts with `cells` cells, and updates the recorded schedule.
  void count_parts(std::size_t cells, int parts) {
    auto& known = widths_[cells];
    known = static_cast<std::size_t>(static_cast<int>(known) + parts);
    if (known == 0) widths_.erase(cells);
    std::size_t all = 0;
    for (const auto& [width, count] : widths_) all += count;
    context_.store().change([&](MatrixResult& result) {
      result.schedule.rounds = all;
      result.schedule.pairs_at_once = widths_.empty() ? 0 : widths_.rbegin()->first;
      result.schedule.at_once = result.schedule.pairs_at_once > 1;
      result.seconds = context_.seconds();
    });
  }

  /// Returns the available cells and the cells of lost endpoints.
  std::pair<Round, Round> split_by_availability(const Round& round) {
    std::pair<Round, Round> split;
    for (const CellIndex& cell : round)
      (context_.sampler().is_available(cell) ? split.first : split.second).push_back(cell);
    return split;
  }

  void finish() {
    for (const std::string& reason : std::span(reasons_).first(std::min<std::size_t>(reasons_.size(), most_reasons)))
      context_.note(reason);
    short_samples_.note();
    context_.note_irregularities();
    control_measurements_.note_unchecked_rounds();
    if (split_ > 0)
      context_.note("rounds split into smaller groups, because concurrent cells disturbed each other: " +
                    std::to_string(split_));
    const Clocking clocking = context_.sampler().clocking();
    context_.store().change([&](MatrixResult& result) {
      result.seconds = context_.seconds();
      result.timing = clocking.timing;
      result.clock_uncertainty = clocking.uncertainty;
      note_noise(result);
    });
  }

  static void note_noise(MatrixResult& result) {
    std::size_t few = 0, noisy = 0, all = 0;
    for (std::size_t r = 0; r < result.converged.rows(); ++r)
      for (std::size_t c = 0; c < result.converged.columns(); ++c) {
        if (!result.converged(r, c)) continue;
        ++all;
        if (*result.converged(r, c)) continue;
        ++(*result.samples(r, c) < static_cast<int>(least_for_interval) ? few : noisy);
      }
    const std::string of = " of " + std::to_string(all) + " cells ";
    if (noisy > 0)
      result.notes.push_back(std::to_string(noisy) + of + "are noisier than the target interval (--target-ci)");
    if (few > 0)
      result.notes.push_back(std::to_string(few) + of + "have fewer than " + std::to_string(least_for_interval) +
                             " samples, too few for an interval of the median (--samples, --max-time)");
  }

  static constexpr std::size_t most_reasons = 20;

  Context context_;
  ControlMeasurements control_measurements_;
  ShortSamples short_samples_;
  std::size_t at_once_ = 1;                    ///< maximum number of concurrent cells
  std::map<std::size_t, std::size_t> widths_;  ///< number of accepted parts by their number of cells
  std::size_t split_ = 0;                      ///< number of parts that were measured again in halves
  std::vector<std::string> reasons_;           ///< errors of failed cells
};

}  // namespace

void measure(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store) {
  Measurement(sampler, work, options, deadline, store).run();
}

}  // namespace linkmatrix
