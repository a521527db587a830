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
  bool is_target_given = false;  ///< whether stop.target applies to all link classes (--target-ci)
  bool in_cpu_memory = false;    ///< whether all data is in memory of CPUs: the host back end, and ranks of host memory
  /// Time limit of one matrix in seconds; cells left after it get one sample and do not converge.
  double max_seconds = 60;
  double cell_timeout = 30;         ///< time limit of one round in seconds (--pair-timeout); cells that hang are marked
  int warmup = 1;                   ///< transfers per cell before its first sample; 0: the first transfer is a sample
  bool warm_bidirectional = false;  ///< whether links are warmed up with bidirectional copies before each matrix
  bool verify = true;
  int short_samples = 0;  ///< number of short samples per cell; 0: none
  Concurrency concurrency = Concurrency::automatic;
  std::optional<std::uint32_t> seed{};             ///< seed of matchings; nothing: random
  double confirm_after = 10;                       ///< pause before matchings confirm findings, in seconds
  std::shared_ptr<const References> references{};  ///< expected values of cells; null: unknown
};

/// The rounds of a matrix, and how to combine their cells.
struct Work {
  const Rounds& rounds;
  /// Whether rounds always run as a whole, because interference is what is measured. Afterwards the worst and some
  /// other cells are measured alone, and the result has the loss of each.
  bool together = false;
  /// Whether, in addition, every cell is measured alone afterwards: a stress test.
  bool stress = false;
};

/// Measures all cells of the last result of the store's record, whose description must be complete.
///
/// Rounds run concurrently if a calibration, and later a control measurement of one cell of each round alone, shows no
/// interference; else in smaller groups. Sampling of a cell ends when the interval of its median is within the target,
/// when noise has settled, or at the time limit. Failed cells are retried once. Outliers are measured again alone,
/// together with healthy control cells. A cell with wrong data stays corrupt.
///
/// Throws TimedOut when `deadline` has passed; the store then has the results measured before.
void measure(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store);

}  // namespace linkmatrix
