#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/statistics.hpp"
#include "core/visibility.hpp"
#include "core/words.hpp"
#include "measure/rounds.hpp"

namespace linkmatrix {

/// One sample of a cell: times of all its copies, each repeated `Sampled::transfers` times.
struct Sample {
  Span whole;                        ///< from the first start to the last end of the measured copies
  std::array<Span, 2> directions{};  ///< bidirectional cell: from row to column, and the reverse direction
  Span slowest{};                    ///< the slowest copy
  double enqueue_seconds = 0;        ///< host time to enqueue one transfer of the first copy, in seconds; 0: no queue
  double loaded_share = 1;  ///< fraction of `whole` during which all background copies were running; 1: no load
};

/// Result of sampling one cell: its samples, or the reason of a failure.
struct Sampled {
  CellStatus status = CellStatus::ok;  ///< corrupt and partial cells have samples; timeout and error have none
  std::string why{};                   ///< one sentence if the status is not ok
  bool is_proven = false;  ///< error: the cell has no value, even if other samplings succeed (visibility tests)
  std::vector<Sample> samples{};
  std::size_t copies = 1;  ///< number of measured copies
  double bytes = 0;        ///< bytes of one transfer of all copies together; 0 for a latency
  double transfers = 1;    ///< mean number of transfers per copy and sample; for a chain, number of accesses
  /// Bidirectional cell: transfers of each direction divided by `transfers`. The faster direction makes more transfers,
  /// so that both directions are always busy.
  std::array<double, 2> direction_share{1, 1};
  /// Returns whether a flag or answer of the visibility test did not arrive.
  bool is_unseen() const { return visibility && !visibility->is_seen(); }
  bool started_together = true;            ///< whether the copies started together
  bool verified = false;                   ///< whether the data was compared; `status` has the result
  Coverage coverage{};                     ///< amount of compared data, if samples are compared
  std::optional<Visibility> visibility{};  ///< visibility test: sum of all runs, including the warm-up
  std::size_t round = 0;                   ///< number of the round; set by Context
  double began = 0, ended = 0;             ///< seconds after the start of the matrix; set by Context
};

/// Minimum Sample::loaded_share without a note. The unloaded rest changes the value by at most 1/20 of the effect of
/// the load.
constexpr double least_loaded_share = 0.95;

/// Returns the value of a sample. Bandwidth in GB/s: bytes × transfers / seconds. Latency in µs: seconds / transfers.
/// seconds: from the first start to the last end.
inline double value_of(Metric metric, const Sampled& sampled, const Sample& sample) {
  const double seconds = sample.whole.seconds();
  if (metric == Metric::latency) return seconds / sampled.transfers * 1e6;
  return sampled.bytes * sampled.transfers / seconds * 1e-9;
}

/// Returns the values of all samples.
inline std::vector<double> values_of(Metric metric, const Sampled& sampled) {
  std::vector<double> values;
  values.reserve(sampled.samples.size());
  for (const Sample& sample : sampled.samples) values.push_back(value_of(metric, sampled, sample));
  return values;
}

/// Returns the bandwidth of one direction of a bidirectional cell in GB/s. direction: 0 from row to column, 1 the
/// reverse.
inline double direction_bandwidth(const Sampled& sampled, const Sample& sample, std::size_t direction) {
  return sampled.bytes / 2 * sampled.transfers * sampled.direction_share.at(direction) /
         sample.directions.at(direction).seconds() * 1e-9;
}

/// How a sampler samples the cells of a round.
struct SampleRule {
  StopRule stop{};
  std::uint64_t divide_bytes_by = 1;    ///< divisor of the transfer size, for short samples
  bool verify = true;                   ///< whether to compare the data of each sample; only with divisor 1
  Deadline enough = Deadline::never();  ///< afterwards, a cell that has a sample gets no further sample
  Deadline until = Deadline::never();   ///< afterwards, a cell without a result has timed out
  /// Time limit of cells that are sampled again because another cell of their round failed.
  Deadline limit = Deadline::never();
  bool warm = false;  ///< whether to skip the warm-up, because the same cells were sampled just before
  /// Transfers, accesses or messages per copy and sample. 0: the sampler chooses a number that makes a sample long
  /// enough for the clock.
  int transfers = 0;
};

/// Source and destination of a copy, by label.
struct Path {
  std::string source, destination;
};

/// How the copies of a matrix were started and timed.
struct Clocking {
  std::string timing;                 ///< "gate", "in-turn", "messages" or "events"; see src/p2p/README.md
  std::optional<double> uncertainty;  ///< maximum clock difference between two copies of a cell in seconds
};

/// Bounds for the limit of ConcurrencyEffect, as fractions. They depend on the noise of the links.
struct Sensitivity {
  double least = 0.005;  ///< smallest limit
  double most = 0.01;    ///< largest limit
};

/// Samples cells with a back end of this process, or with the ranks of a job. The engine decides which cells are
/// sampled, how often, and what the samples mean. All calls come from one thread.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// Warms up, samples all cells of the round concurrently until `rule.stop` ends every cell, and compares the data.
  /// Returns one result per cell, in order. A failed cell is a result, not an exception. Cells of lost endpoints fail
  /// immediately.
  virtual std::vector<Sampled> sample(const Round& round, const SampleRule& rule) = 0;

  /// Returns the numbers of the resources that a cell uses, such as an engine or the memory of a NUMA node. Cells that
  /// share a resource never run concurrently, except in a stress.
  virtual std::vector<int> resources(const CellIndex& cell) const = 0;

  /// Returns the measured paths of a cell, without its background load.
  virtual std::vector<Path> paths(const CellIndex& cell) const = 0;

  /// Returns whether the cell can be sampled: no endpoint that the cell needs is lost.
  virtual bool is_available(const CellIndex& cell) const = 0;

  /// Returns whether a cell is lost with any of its endpoints. A cell of several copies needs only one of its copies.
  virtual bool needs_all(const CellIndex&) const { return false; }

  /// Returns the status of cells of a lost endpoint: timeout if the endpoint hung, else error.
  virtual CellStatus lost_status(const CellIndex&) const { return CellStatus::error; }

  /// Returns the endpoints lost since the last call.
  virtual std::vector<Lost> take_lost() { return {}; }

  /// Returns whether the sampler itself corrupts data of the cell for --simulate-fault.
  virtual bool simulates_corruption(const CellIndex&) const { return false; }

  /// Returns the bounds for the effect of concurrent cells.
  virtual Sensitivity sensitivity() const { return {}; }

  /// Returns how the last samples were started and timed.
  virtual Clocking clocking() const { return {}; }
};

}  // namespace linkmatrix
