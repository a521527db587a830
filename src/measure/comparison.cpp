#include "measure/comparison.hpp"

#include <algorithm>
#include <cmath>

namespace linkmatrix {

Moved moved(const Sensitivity& sensitivity, const std::vector<double>& alone, const std::vector<double>& together) {
  const double reference = median(alone), sigma = std::max(robust_sigma(alone), robust_sigma(together));
  return {std::abs(median(together) / reference - 1),
          std::clamp(3 * sigma / reference, sensitivity.least, sensitivity.most)};
}

StopRule exactly(int samples) { return {.min_samples = samples, .max_samples = samples}; }

bool all_ok(const std::vector<Sampled>& answers) {
  return std::all_of(answers.begin(), answers.end(), [](const Sampled& s) { return s.status == CellStatus::ok; });
}

}  // namespace linkmatrix
