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
  Span whole;                  ///< from the first start to the last end of the measured copies
  std::array<Span, 2> ways{};  ///< bidirectional cell: times from row to column, and in the reverse direction
  Span slowest{};              ///< the slowest of several copies
  double enqueue_seconds = 0;  ///< host time to enqueue one transfer of the first copy, in seconds; 0: no queue
  double loaded_share = 1;  ///< fraction of `whole` during which the load, or the other cells of a stress, were running
};

/// Result of sampling one cell: samples, or the reason why there are none.
struct Sampled {
  CellStatus status = CellStatus::ok;  ///< corrupt and partial cells have samples; timeout and error have none
  std::string why{};                   ///< one sentence if the status is not ok
  bool is_proven = false;  ///< error: proves that the cell cannot have a value, whatever other measurements return
  std::vector<Sample> samples{};
  std::size_t copies = 1;  ///< number of measured copies
  double bytes = 0;        ///< bytes of one transfer of all copies together; 0 for a latency
  double transfers = 1;    ///< mean number of transfers per copy between start and end; for a chain, number of accesses
  /// Bidirectional cell: transfers per direction relative to `transfers`. The faster direction makes more transfers, so
  /// that both are always busy.
  std::array<double, 2> way_share{1, 1};
  bool is_unseen() const { return visibility && !visibility->is_seen(); }
  bool started_together = true;            ///< whether the copies started together
  bool verified = false;                   ///< whether the data was compared, with any result
  Coverage coverage{};                     ///< comparison of the data of the samples
  std::optional<Visibility> visibility{};  ///< visibility test: result of all runs, including the warm-up
  std::size_t round = 0;                   ///< round of the sampling …
  double began = 0, ended = 0;             ///< … and its time, in seconds after the start of the matrix
};

/// Minimum loaded fraction of a cell that counts as always loaded. The rest changes the value by at most 1/20 of the
/// effect of the load.
constexpr double least_loaded_share = 0.95;

/// Returns the value of a sample. Bandwidth: bytes × transfers / (last end − first start), in GB/s. Latency: (last end
/// − first start) / transfers, in µs.
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

/// Returns the bandwidth of one direction of a bidirectional cell in GB/s, from its own start and end and half of the
/// bytes.
inline double way_of(const Sampled& sampled, const Sample& sample, std::size_t way) {
  return sampled.bytes / 2 * sampled.transfers * sampled.way_share.at(way) / sample.ways.at(way).seconds() * 1e-9;
}

/// Rules for sampling cells.
struct SampleRule {
  StopRule stop{};
  std::uint64_t divide_bytes_by = 1;    ///< divisor of the transfer size, for the fit of a cell's overhead
  bool verify = true;                   ///< whether to compare the data of each sample; never for smaller transfers
  Deadline enough = Deadline::never();  ///< after this time a cell with a sample gets no further sample
  Deadline until = Deadline::never();   ///< after this time a cell without a result has timed out
  /// Time limit of cells that are sampled again because other cells of their round failed.
  Deadline limit = Deadline::never();
  bool warm = false;  ///< whether the same sampling ran just before, so that no warm-up is needed
  /// Transfers, accesses or messages per copy in a sample, at least one repeat. 0: the sampler chooses a number that
  /// makes a sample long enough for the clock.
  int transfers = 0;
};

/// Source and destination of a copy, by label.
struct Path {
  std::string source, destination;
};

/// How the copies of a matrix were started and timed.
struct Clocking {
  std::string timing;                 ///< "gate", "in-turn" or "messages"; see src/p2p/README.md
  std::optional<double> uncertainty;  ///< maximum difference of the clocks of two copies of a cell, in seconds
};

/// Bounds within which noise and interference of a medium cannot be distinguished, as fractions.
struct Sensitivity {
  double least = 0.005;  ///< difference that is always accepted
  double most = 0.01;    ///< largest difference that noise may explain
};

/// Samples cells with a back end of this process or with the ranks of a job. Rules on what to measure, how often and
/// against what to compare belong to the engine.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// Warms up, samples all cells of the round concurrently until `rule.stop` allows every cell to end, and compares the
  /// data. Returns one result per cell, in order. Failures of cells are in the results, never exceptions. Cells of lost
  /// endpoints return an error or timeout immediately.
  virtual std::vector<Sampled> sample(const Round& round, const SampleRule& rule) = 0;

  /// Returns numbers of the resources that a cell uses. Cells that share a resource do not run concurrently when a link
  /// is measured alone.
  virtual std::vector<int> resources(const Place& place) const = 0;

  /// Returns the measured paths of a cell.
  virtual std::vector<Path> paths(const Place& place) const = 0;

  /// Returns whether all endpoints of a cell are available.
  virtual bool is_there(const Place& place) const = 0;

  /// Returns whether a cell needs all its endpoints. A fan of copies does not.
  virtual bool needs_all(const Place&) const { return false; }

  /// Returns the status of cells of a lost endpoint: timeout if the endpoint hung, else error.
  virtual CellStatus lost_as(const Place&) const { return CellStatus::error; }

  /// Returns the endpoints lost since the last call.
  virtual std::vector<Lost> take_lost() { return {}; }

  /// Returns whether the sampler injects wrong data into the cell (--simulate-fault).
  virtual bool makes_wrong(const Place&) const { return false; }

  virtual Sensitivity sensitivity() const { return {}; }

  /// Returns how the last samples were started and timed.
  virtual Clocking clocking() const { return {}; }
};

}  // namespace linkmatrix
