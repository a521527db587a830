#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/timeline.hpp"
#include "core/visibility.hpp"
#include "core/words.hpp"

namespace linkmatrix {

/// What was timed of a cell at once: all its copies, each as often as `Sampled::transfers` says.
struct Sample {
  Span whole;                  ///< first start to last end of what is measured
  std::array<Span, 2> ways{};  ///< of a bidirectional cell: from row to column, and back
  Span slowest{};              ///< of several copies the one that took longest
  double enqueue_seconds = 0;  ///< host time to hand over one transfer of the first copy; 0: there is no queue
  double loaded_share = 1;     ///< how much of `whole` the cell's load, or the others of its stress, kept running
};

/// One sampling of one cell: its samples, or why there are none.
struct Sampled {
  CellStatus status = CellStatus::ok;  ///< ok, corrupt, partial, timeout or error; corrupt and partial have samples
  std::string why;                     ///< one sentence where it is not ok
  bool is_proven = false;              ///< of an error: the cell has no value, whatever its other measurements give
  std::vector<Sample> samples;
  std::size_t copies = 1;  ///< that are measured
  double bytes = 0;        ///< of one transfer of all of them together; 0 for a latency
  double transfers = 1;    ///< of each copy between start and end, their mean; of a chain of accesses, those
  /// Of a bidirectional cell: the transfers of each way over `transfers`. The faster way makes more, so that both are
  /// busy all the time.
  std::array<double, 2> way_share{1, 1};
  bool is_unseen() const { return visibility && !visibility->is_seen(); }
  bool started_together = true;            ///< false: its copies could not be made to run at once
  bool verified = false;                   ///< the data that arrived was compared, whatever came of it
  Coverage coverage{};                     ///< of its samples
  std::optional<Visibility> visibility{};  ///< of a visibility test: all its runs, the warm-up too
  std::size_t round = 0;                   ///< the engine's: in which round, …
  double began = 0, ended = 0;             ///< … and when, in seconds after the matrix began
};

/// From this share on a cell counts as loaded all the time: what it gains in the rest is 1/20 of the load's effect.
constexpr double least_loaded_share = 0.95;

/// The one definition of a value. Bandwidths: bytes × transfers over last end − first start, GB/s; so a sum cannot
/// count time twice. Latencies: (last end − first start) / transfers, µs.
double value_of(Metric metric, const Sampled& sampled, const Sample& sample);

/// The values of all samples.
std::vector<double> values_of(Metric metric, const Sampled& sampled);

/// Of one direction of a bidirectional cell, by its own start and end: half of the bytes.
double way_of(const Sampled& sampled, const Sample& sample, std::size_t way);

}  // namespace linkmatrix
