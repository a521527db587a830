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

/// Options of the measurement of one matrix.
struct MeasureOptions {
  StopRule stop{};
  bool is_target_given = false;  ///< whether stop.target applies to all link classes (--target-ci)
  bool in_cpu_memory = false;    ///< whether no GPU takes part: the host back end, and ranks of host memory
  /// Time limit of one matrix in seconds (--max-time). Afterwards each remaining cell gets one sample.
  double max_seconds = 60;
  double cell_timeout = 30;         ///< time limit of one round in seconds (--pair-timeout)
  int warmup = 1;                   ///< transfers per cell before its first sample; 0: the first transfer is a sample
  bool warm_bidirectional = false;  ///< whether links are warmed up with bidirectional copies before each matrix
  bool verify = true;               ///< whether to compare the transferred data
  int short_samples = 0;            ///< number of short samples per cell; 0: none
  Concurrency concurrency = Concurrency::automatic;
  std::optional<std::uint32_t> seed{};             ///< random seed of matchings (--seed); nothing: a random one
  double confirm_after = 10;                       ///< pause before the confirming matchings in seconds
  std::shared_ptr<const References> references{};  ///< expected values of cells (--references); null: none
};

/// The rounds of a matrix, and how they are measured.
struct Work {
  const Rounds& rounds;
  /// Whether rounds always run as a whole, because their interference is the result. Afterwards the worst and some
  /// other cells are measured alone, and the result contains their loss.
  bool together = false;
  /// As `together`, but every cell is measured alone afterwards.
  bool stress = false;
};

/// Measures all cells of the last result in the store. The caller has set the description of this result.
///
/// 1. A calibration (Calibration) determines how many cells of a round run concurrently.
/// 2. Each round is sampled until StopRule ends every cell.
/// 3. Rounds that disturb themselves (ControlMeasurements) are measured again in smaller groups.
/// 4. Failed cells are retried once.
/// 5. Outliers are measured again alone, and healthy control cells in the same way (remeasure_outliers).
///
/// A cell with wrong data stays corrupt. Throws TimedOut after `deadline`; the store keeps the results so far.
void measure(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store);

}  // namespace linkmatrix
