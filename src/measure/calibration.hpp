#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Maximum number of endpoints for serial measurement. If concurrent pairs disturb each other, a matrix of this size or
/// smaller is measured in smaller groups, down to single cells. A larger matrix stays concurrent: random rounds get a
/// control measurement, and a note reports the interference.
constexpr std::size_t most_serial = 64;

/// Effect of concurrent cells on the value of one cell.
struct ConcurrencyEffect {
  double change = 0;     ///< |concurrent / alone − 1|
  double limit = 0;      ///< accepted change, as a fraction
  bool is_known = true;  ///< false: a cell failed, so the difference is unknown
  bool exceeds_limit() const { return change > limit; }
};

/// Compares the median of one cell alone with its median in a concurrent round. The limit is three standard deviations
/// (robust_sigma) of the noisier measurement, clamped to the bounds of `sensitivity`. Neither list may be empty.
ConcurrencyEffect concurrency_effect(const Sensitivity& sensitivity, const std::vector<double>& alone,
                                     const std::vector<double>& concurrent);

/// Returns the stop rule that takes exactly `samples` samples.
StopRule fixed_sample_count(int samples);

bool all_ok(const std::vector<Sampled>& answers);

/// Number of samples of a cell that is measured alone in a stress.
constexpr int brief_samples = 3;

/// Number of samples that repeat a doubtful single sample.
constexpr int thorough_samples = 3;

/// Determines how many cells of a round can be measured concurrently without interference.
class Calibration {
 public:
  /// is_reported: whether the interference and notes go into the record.
  Calibration(Context& context, const Rounds& rounds, bool is_reported = true)
      : context_{context}, rounds_{rounds}, is_reported_{is_reported} {}

  /// Returns the maximum number of concurrent cells:
  ///
  /// 1. Sample up to four cells of the fullest round alone, then the whole round, one sample each.
  /// 2. If a cell changed, repeat with three samples: alone, concurrent, alone.
  /// 3. If a cell still exceeds its limit, repeat with half of the cells, down to one.
  ///
  /// Returns SIZE_MAX if whole rounds can run. --concurrency serial (1) and rounds (SIZE_MAX) skip the measurement.
  std::size_t concurrent_cells();

  /// Returns the number of the round that ran as a whole without interference.
  std::optional<std::size_t> calibrated_round() const { return calibrated_; }

 private:
  ConcurrencyEffect largest_effect(const Round& round);
  void report(double interference, const std::string& note);
  ConcurrencyEffect measure_effect(const Round& round, int samples, bool twice_alone);

  Context& context_;
  const Rounds& rounds_;
  bool is_reported_;
  std::optional<std::size_t> calibrated_;
  double disturbance_ = 0;  ///< largest interference that exceeded its limit
};

}  // namespace linkmatrix
