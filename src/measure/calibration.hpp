#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "measure/comparison.hpp"

namespace linkmatrix {

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
