#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/clock.hpp"
#include "core/statistics.hpp"
#include "measure/references.hpp"
#include "measure/rounds.hpp"
#include "measure/sampler.hpp"
#include "measure/store.hpp"

namespace linkmatrix {

struct MeasureOptions {
  StopRule stop{};
  double max_seconds = 60;   ///< of one matrix; afterwards every cell left gets one sample and is not converged
  double cell_timeout = 30;  ///< seconds of one round (--pair-timeout): what hangs is marked and the rest goes on
  int warmup = 1;            ///< transfers of each cell before its first sample; 0: each one is a sample
  bool warm_bidirectional = false;  ///< before a matrix is sampled, copies both ways at once between its devices
  bool verify = true;
  int short_samples = 0;  ///< of each cell, in passes over the time of the matrix; 0: none
  Concurrency concurrency = Concurrency::automatic;
  std::optional<std::uint32_t> seed{};             ///< of matchings; nothing: one is drawn
  double confirm_after = 10;                       ///< seconds of pause before matchings confirm what was found
  std::shared_ptr<const References> references{};  ///< what cells should be, where a site says it
};

/// What is measured, and how its cells may be put together.
struct Work {
  const Rounds& rounds;
  /// Rounds run as they are, whatever the cells do to each other: it is what is asked. Afterwards the worst cells and
  /// some others alone, and what each loses.
  bool together = false;
  /// The same with every cell alone afterwards: a stress.
  bool stress = false;
};

/// Measures all cells of the last result of the store's record, which has been shaped and described.
///
/// Rounds run at once where a calibration and then a witness of each round (one of its cells alone) show that this does
/// not change the answer, else in smaller parts; every cell is sampled until the interval of its median is inside the
/// target, noise has settled, or time is up; what failed is tried once more; outliers are measured again alone, and
/// healthy cells beside them. A cell of which wrong data arrived is corrupt and stays it. Source of the method: design
/// of linkmatrix, "How a matrix is measured".
///
/// Throws TimedOut when `deadline` has passed; what was measured until then is in the store.
void measure(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store);

}  // namespace linkmatrix
