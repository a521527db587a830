#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Maximum number of endpoints of a matrix that is measured serially if concurrent pairs disturb each other. In a
/// larger matrix random rounds get a control measurement, and a note reports the result.
constexpr std::size_t most_serial = 64;

/// Difference between a cell's value in a concurrent round and alone, and the limit of the difference, as fractions.
struct Moved {
  double by = 0, limit = 0;
  bool is_known = true;  ///< false: a cell failed, so the difference is unknown
  bool too_far() const { return by > limit; }
};

/// Returns the difference and its limit. The limit is three sigma of the noisier measurement, within the bounds of
/// `sensitivity`.
Moved moved(const Sensitivity& sensitivity, const std::vector<double>& alone, const std::vector<double>& together);

/// Returns a rule that takes exactly this number of samples.
StopRule exactly(int samples);

bool all_ok(const std::vector<Sampled>& answers);

/// Number of samples of a brief measurement.
constexpr int brief_samples = 3;

/// Number of samples of a thorough measurement after a doubtful brief one.
constexpr int thorough_samples = 3;

/// Determines how many cells of a round can be measured concurrently, from the fullest round.
class Calibration {
 public:
  /// is_reported: whether the result goes into the record.
  Calibration(Context& context, const Rounds& rounds, bool is_reported = true)
      : context_{context}, rounds_{rounds}, is_reported_{is_reported} {}

  /// Returns the number of cells that can be measured concurrently. Measures a few cells of the fullest round alone and
  /// the whole round together, one sample each. If a cell changed, it repeats thoroughly: alone, together, alone. If a
  /// cell changes by more than three sigma, it tries half as many cells, down to one. The modes serial and rounds skip
  /// the calibration.
  std::size_t cells_at_once();

  /// Returns the round that was measured as a whole without interference.
  std::optional<std::size_t> calibrated_round() const { return calibrated_; }

 private:
  Moved worst_of(const Round& together);
  void report(double let_pass, const std::string& note);
  Moved look(const Round& together, int samples, bool again);

  Context& context_;
  const Rounds& rounds_;
  bool is_reported_;
  std::optional<std::size_t> calibrated_;
  double disturbance_ = 0;  ///< largest interference that exceeded its limit
};

}  // namespace linkmatrix
