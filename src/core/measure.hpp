#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/sampler.hpp"
#include "core/statistics.hpp"
#include "device/backend.hpp"

namespace linkmatrix {

struct MeasureOptions {
  StopRule stop{};
  double max_seconds = 60;  ///< of one matrix; afterwards every cell left gets one sample and is not converged
  int warmup = 1;           ///< transfers of each cell before its first sample
  bool verify = true;
  Concurrency concurrency = Concurrency::automatic;
  bool fit = true;  ///< take a second size for each bandwidth, and separate the time that every copy costs
};

/// The cells of a matrix, in the order in which they should be scheduled.
struct Work {
  std::vector<Cell> cells;
  /// Cells that run at once whatever they share: a stress, held against the same cells alone. Empty: as measure()
  /// finds.
  std::vector<Round> rounds;
};

/// Measures all cells into `result`, which has been shaped and described by the caller.
///
/// Cells that share no resource go together in rounds where a calibration shows that this does not change the answer
/// (a few cells alone, the round together, the same cells alone again); every cell is sampled until the interval of
/// its median is inside the target, noise has settled, or time is up; outliers are measured again alone, and healthy
/// cells beside them; then every cell's data is verified. Source of the method: design of linkmatrix, "How a matrix is
/// measured".
///
/// Throws DeviceError and TimedOut; what was measured until then stays in `result`, the cells in flight are marked.
void measure(Backend& backend, const Work& work, const MeasureOptions& options, Deadline deadline,
             MatrixResult& result);

}  // namespace linkmatrix
