#pragma once

#include <optional>
#include <vector>

#include "core/sampler.hpp"

namespace linkmatrix {

struct Calibration {
  std::size_t pairs_at_once = 1;
  /// Largest |together / alone − 1| of the last step; nothing where there was nothing to calibrate.
  std::optional<double> interference;
};

/// How many cells of a round may run at once without changing the answer. A few cells alone, the round together, the
/// same cells alone again: where a cell moves by more than three sigma (but 0.5 % at least and 1 % at most), half as
/// many, down to one. serial and rounds leave no question.
Calibration calibrate(Sampler& sampler, const std::vector<Round>& rounds, Concurrency concurrency);

}  // namespace linkmatrix
