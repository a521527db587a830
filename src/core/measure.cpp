#include "core/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/calibrate.hpp"
#include "core/outliers.hpp"
#include "core/schedule.hpp"
#include "core/units.hpp"

namespace linkmatrix {
namespace {

// Latencies are short for the clocks that time them, host memory has other users: 1 % by default.
constexpr double noisy_target_factor = 4;
constexpr int brief_samples = 3;
constexpr std::uint64_t fit_divisor = 8;
constexpr std::uint64_t smallest_fit = 8 * MiB;          // below, caches and not the link decide
constexpr std::uint64_t seed_base = 0x6c696e6b6d617472;  // any constant: each verified cell adds its own number

class Measurement {
 public:
  Measurement(Backend& backend, const Work& work, const MeasureOptions& options, Deadline deadline,
              MatrixResult& result)
      : backend_{backend},
        work_{work},
        cells_{work.cells},
        options_{options},
        deadline_{deadline},
        result_{result},
        sampler_{backend, cells_, result.metric, options.warmup, deadline, Deadline::in(options.max_seconds)},
        samples_(cells_.size()),
        stop_{options.stop} {
    if (is_latency() || result.memory == Memory::host) stop_.target *= noisy_target_factor;
  }

  void run() {
    const auto start = Clock::now();
    for (const Cell& cell : cells_) mark(cell, CellStatus::not_run);
    try {
      measure_all();
    } catch (const TimedOut&) {
      mark_in_flight(CellStatus::timeout);
      result_.seconds = seconds_since(start);
      throw;
    } catch (const DeviceError&) {
      mark_in_flight(CellStatus::error);
      result_.seconds = seconds_since(start);
      throw;
    }
    result_.seconds = seconds_since(start);
  }

 private:
  bool is_latency() const { return result_.metric == Metric::latency; }
  void measure_all() {
    prepare();
    const std::vector<Round> isolated =
        is_stress() && options_.concurrency == Concurrency::rounds ? std::vector<Round>() : isolated_rounds();
    const std::vector<Round>& rounds = is_stress() ? work_.rounds : isolated;
    result_.schedule.rounds = rounds.size();
    result_.schedule.pairs_at_once = widest(rounds);
    result_.schedule.at_once = result_.schedule.pairs_at_once > 1;
    for (const Round& round : rounds) {
      sample_round(round, stop_);
      fit_round(round);
      for (const std::size_t i : round) store(i);
    }
    if (is_stress())
      for (const Round& round : isolated) compare_with_isolated(round);
    else
      remeasure_outliers();
    if (options_.verify)
      for (const Round& round : rounds) verify_round(round);
    note_unconverged();
  }

  bool is_stress() const { return !work_.rounds.empty(); }

  void prepare() {
    std::vector<Copy> all;
    for (const Cell& cell : cells_) all.insert(all.end(), cell.copies.begin(), cell.copies.end());
    backend_.prepare(all, deadline_);
  }

  /// Rounds in which the cells do not disturb each other.
  std::vector<Round> isolated_rounds() {
    const std::vector<Round> rounds =
        pack_rounds(cells_.size(), [this](std::size_t i) { return resources(cells_[i]); });
    const Calibration calibration = calibrate(sampler_, rounds, options_.concurrency);
    result_.schedule.interference = calibration.interference;
    return split_rounds(rounds, std::max<std::size_t>(calibration.pairs_at_once, 1));
  }

  /// What a cell under stress loses against the same cell without the others.
  void compare_with_isolated(const Round& round) {
    const std::vector<Samples> sampled =
        sampler_.sample(round, {.min_samples = brief_samples, .max_samples = brief_samples});
    for (std::size_t k = 0; k < round.size(); ++k) {
      const Cell& cell = cells_[round[k]];
      const double alone = median(sampled[k].values), here = median(samples_[round[k]].values);
      result_.part("isolated", "isolated", result_.unit)(cell.row, cell.column) = alone;
      result_.part("loss", "loss against isolated", "%")(cell.row, cell.column) = 100 * (1 - here / alone);
    }
  }

  std::vector<int> resources(const Cell& cell) const {
    std::set<int> out;  // the two directions of one cell may share
    for (const Copy& copy : cell.copies)
      for (const int resource : backend_.resources(copy)) out.insert(resource);
    return {out.begin(), out.end()};
  }

  void sample_round(const Round& round, const StopRule& stop) {
    std::vector<Samples> sampled = sampler_.sample(round, stop);
    for (std::size_t k = 0; k < round.size(); ++k) samples_[round[k]] = std::move(sampled[k]);
  }

  /// t = t0 + B / BW through this size and an eighth of it.
  void fit_round(const Round& round) {
    const std::uint64_t large = cells_[round.front()].copies.front().bytes, small = large / fit_divisor;
    const bool one_copy = cells_[round.front()].copies.size() == 1;
    if (!options_.fit || result_.metric != Metric::bandwidth || small < smallest_fit || !one_copy || is_stress())
      return;
    const std::vector<Samples> sampled =
        sampler_.sample(round, {.min_samples = brief_samples, .max_samples = brief_samples}, fit_divisor);
    for (std::size_t k = 0; k < round.size(); ++k) {
      const std::array both{TransferTime{static_cast<double>(small), median(sampled[k].seconds.front())},
                            TransferTime{static_cast<double>(large), median(samples_[round[k]].seconds.front())}};
      const auto fit = fit_transfer(both);
      if (!fit) continue;
      const Cell& cell = cells_[round[k]];
      result_.part("fit_bandwidth", "fitted bandwidth", "GB/s")(cell.row, cell.column) = fit->bytes_per_second * 1e-9;
      result_.part("fit_overhead", "fitted overhead", "us")(cell.row, cell.column) = fit->overhead_seconds * 1e6;
    }
  }

  /// Where a cell's value goes: a bidirectional pair stands at both its places.
  std::vector<std::pair<std::size_t, std::size_t>> places(const Cell& cell) const {
    if (result_.triangle) return {{cell.row, cell.column}};
    if (result_.metric != Metric::bidirectional || result_.rows != result_.columns) return {{cell.row, cell.column}};
    return {{cell.row, cell.column}, {cell.column, cell.row}};
  }

  void mark(const Cell& cell, CellStatus status) {
    for (const auto& [r, c] : places(cell)) result_.status(r, c) = status;
  }

  void mark_in_flight(CellStatus status) {
    for (const std::size_t i : sampler_.in_flight()) {
      mark(cells_[i], status);
      for (const auto& [r, c] : places(cells_[i])) {
        result_.values(r, c) = result_.low(r, c) = result_.high(r, c) = std::nullopt;
        result_.samples(r, c) = std::nullopt;
        result_.converged(r, c) = std::nullopt;
      }
    }
  }

  void store(std::size_t i) {
    const Samples& samples = samples_[i];
    const Interval interval = median_interval(samples.values);
    for (const auto& [r, c] : places(cells_[i])) {
      result_.values(r, c) = median(samples.values);
      result_.low(r, c) = interval.low;
      result_.high(r, c) = interval.high;
      result_.samples(r, c) = static_cast<int>(samples.values.size());
      result_.converged(r, c) = stop_.converged(samples.values);
      result_.status(r, c) = CellStatus::ok;
    }
    store_parts(i);
  }

  void store_parts(std::size_t i) {
    const Cell& cell = cells_[i];
    const Samples& samples = samples_[i];
    if (result_.metric == Metric::bidirectional) {
      Values& one_direction = result_.part("one_direction", "one direction", "GB/s");
      const auto at = places(cell);
      for (std::size_t d = 0; d < cell.copies.size() && d < at.size(); ++d)
        one_direction(at[d].first, at[d].second) =
            gigabytes_per_second(cell.copies[d].bytes, median(samples.seconds[d]));
    }
    if (is_latency() && median(samples.enqueue_seconds) > 0)
      result_.part("enqueue", "enqueue latency", "us")(cell.row, cell.column) = median(samples.enqueue_seconds) * 1e6;
    if (result_.metric == Metric::bandwidth && measured_copies(cell) > 1)
      result_.part("slowest_copy", "slowest of its copies", "GB/s")(cell.row, cell.column) =
          slowest_copy(cell, samples);
  }

  static std::size_t measured_copies(const Cell& cell) {
    return static_cast<std::size_t>(
        std::count_if(cell.copies.begin(), cell.copies.end(), [](const Copy& copy) { return !copy.background; }));
  }

  static double slowest_copy(const Cell& cell, const Samples& samples) {
    double slowest = std::numeric_limits<double>::max();
    for (std::size_t c = 0; c < cell.copies.size(); ++c)
      if (!cell.copies[c].background)
        slowest = std::min(slowest, gigabytes_per_second(cell.copies[c].bytes, median(samples.seconds[c])));
    return slowest;
  }

  /// A cell that is worse than the median of its link class is measured again, alone, before anyone is alarmed; and
  /// healthy ones in the same way, whose values stay as they are.
  void remeasure_outliers() {
    std::vector<Standing> outliers, healthy;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto& [row, column, copies] = cells_[i];
      const Standing cell{i, row, column, result_.link_class(row, column), worse_than_class(i)};
      const Interval interval = median_interval(samples_[i].values);
      const double noise = 1.5 * (interval.high - interval.low) / median(samples_[i].values);
      (cell.worse > std::max(outlier_limit(result_.metric), noise) ? outliers : healthy).push_back(cell);
    }
    std::stable_sort(outliers.begin(), outliers.end(),
                     [](const Standing& a, const Standing& b) { return a.worse > b.worse; });
    std::size_t again = 0;
    for (; again < std::min(outliers.size(), most_remeasured) && !sampler_.out_of_time(); ++again) {
      const std::size_t i = outliers[again].index;
      const double before = median(samples_[i].values);
      samples_[i] = sample_alone(i);
      store(i);
      result_.remeasured.push_back({cells_[i].row, cells_[i].column, before, median(samples_[i].values)});
    }
    for (const std::size_t i : choose_controls(std::span(outliers).first(again), healthy)) {
      if (sampler_.out_of_time()) break;
      const double after = median(sample_alone(i).values);
      result_.controls.push_back({cells_[i].row, cells_[i].column, median(samples_[i].values), after});
    }
    const std::string most = "at most " + std::to_string(most_remeasured) + " are";
    note_doubts(result_, outliers.size(), again, again < most_remeasured ? "the time for this matrix was over" : most);
  }

  /// The median of three measurements, each of its own warm-up and samples.
  Samples sample_alone(std::size_t i) {
    std::vector<Samples> tries;
    for (int attempt = 0; attempt < 3; ++attempt) tries.push_back(sampler_.sample({i}, stop_).front());
    std::sort(tries.begin(), tries.end(),
              [](const Samples& a, const Samples& b) { return median(a.values) < median(b.values); });
    return tries[1];
  }

  /// By which fraction a cell is worse than the median of the cells of its link class; below 0: better.
  double worse_than_class(std::size_t i) const {
    const std::string& wanted = result_.link_class(cells_[i].row, cells_[i].column);
    std::vector<double> peers;
    for (std::size_t k = 0; k < cells_.size(); ++k)
      if (result_.link_class(cells_[k].row, cells_[k].column) == wanted) peers.push_back(median(samples_[k].values));
    return worse_by(result_.metric, median(std::move(peers)), median(samples_[i].values));
  }

  void verify_round(const Round& round) {
    sampler_.set_in_flight(round);
    std::vector<Copy> copies = sampler_.copies_of(round);
    std::erase_if(copies, [](const Copy& copy) { return copy.background; });
    const std::vector<PatternCheck> checks = backend_.verify(copies, seed_base + round.front() * 1000003, deadline_);
    auto check = checks.begin();
    for (const std::size_t i : round) {
      std::uint64_t wrong = 0;
      for (std::size_t c = 0; c < measured_copies(cells_[i]); ++c, ++check) {
        if (check->wrong_bytes > 0 && wrong == 0)
          result_.notes.push_back(result_.rows[cells_[i].row] + "->" + result_.columns[cells_[i].column] + ": " +
                                  std::to_string(check->wrong_bytes) + " wrong bytes arrived, the first at offset " +
                                  std::to_string(check->first_wrong));
        wrong += check->wrong_bytes;
      }
      if (wrong > 0)
        mark(cells_[i], CellStatus::corrupt);
      else
        result_.cells_verified += places(cells_[i]).size();
    }
  }

  void note_unconverged() {
    const auto loose = std::count(result_.converged.begin(), result_.converged.end(), std::optional(false));
    if (loose > 0)
      result_.notes.push_back(std::to_string(loose) + " of " + std::to_string(result_.cells_expected()) +
                              " cells are noisier than the wanted interval (--target-ci)");
  }

  Backend& backend_;
  const Work& work_;
  const std::vector<Cell>& cells_;
  const MeasureOptions& options_;
  Deadline deadline_;
  MatrixResult& result_;
  Sampler sampler_;
  std::vector<Samples> samples_;
  StopRule stop_;
};

}  // namespace

void measure(Backend& backend, const Work& work, const MeasureOptions& options, Deadline deadline,
             MatrixResult& result) {
  Measurement(backend, work, options, deadline, result).run();
}

}  // namespace linkmatrix
