#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "measure/context.hpp"

namespace linkmatrix {

/// Endpoints of a matrix that may be measured a pair at a time where pairs at once disturb each other. Of more, rounds
/// drawn at random have a witness, and a note says what it found.
constexpr std::size_t most_serial = 64;

/// How far a cell's value with others is from its value alone, and how far it may be, as fractions.
struct Moved {
  double by = 0, limit = 0;
  bool is_known = true;  ///< false: a cell failed
  bool too_far() const { return by > limit; }
};

/// The limit is three sigma of the noisier of the two, but no less than what may always be and no more than noise may
/// pay for.
Moved moved(const Sensitivity& sensitivity, const std::vector<double>& alone, const std::vector<double>& together);

/// So many samples, whatever they say.
StopRule exactly(int samples);

bool all_ok(const std::vector<Sampled>& answers);

/// Samples of a look beside another one at the same cells.
constexpr int brief_samples = 3;

/// Samples that look thoroughly where one sample left a doubt.
constexpr int thorough_samples = 3;

/// How many cells of a round may run at once, from the fullest round.
class Calibration {
 public:
  /// is_reported: what it finds concerns the values of the result, and goes into it.
  Calibration(Context& context, const Rounds& rounds, bool is_reported = true)
      : context_{context}, rounds_{rounds}, is_reported_{is_reported} {}

  /// A few cells of the fullest round alone and all of it together, a sample of each; where a cell moved, they are
  /// looked at again thoroughly: alone, together, and alone once more. Where a cell moves by more than three sigma
  /// (within the medium's sensitivity), half as many, down to one. serial and rounds leave no question.
  std::size_t cells_at_once();

  /// The round that was shown to run at once as a whole.
  std::optional<std::size_t> calibrated_round() const { return calibrated_; }

 private:
  Moved worst_of(const Round& together);
  void report(double let_pass, const std::string& note);
  Moved look(const Round& together, int samples, bool again);

  Context& context_;
  const Rounds& rounds_;
  bool is_reported_;
  std::optional<std::size_t> calibrated_;
  double disturbance_ = 0;  ///< the largest that was not let pass
};

}  // namespace linkmatrix
