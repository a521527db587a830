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

/// How cells are to be sampled.
struct SampleRule {
  StopRule stop{};
  std::uint64_t divide_bytes_by = 1;    ///< smaller transfers, for the fit of a cell's overhead
  bool verify = true;                   ///< compare the data of each sample; never of smaller transfers
  Deadline enough = Deadline::never();  ///< from then on a cell that has a sample gets no other
  Deadline until = Deadline::never();   ///< a cell that is not done by then has timed out
  Deadline limit = Deadline::never();   ///< for cells that are sampled anew because others of their round failed
  bool warm = false;                    ///< sampled just before in the same way: no warm-up
  /// Transfers, accesses or messages of each copy in a sample, at least one repeat. 0: the sampler chooses as many as
  /// make a sample long enough for the clock.
  int transfers = 0;
};

/// From where to where a copy of a cell goes, by label.
struct Path {
  std::string source, destination;
};

/// How the copies of a matrix were let go and timed.
struct Clocking {
  std::string timing;                 ///< "gate", "in-turn" or "messages"; see src/p2p/README.md
  std::optional<double> uncertainty;  ///< seconds by which the clocks of two copies of a cell may differ
};

/// What noise cannot be told from interference, as fractions: a medium's own.
struct Sensitivity {
  double least = 0.005;  ///< what may always be
  double most = 0.01;    ///< what noise may pay for
};

/// Takes samples of cells: a back end of one process, or the ranks of a job. It knows no rule of measuring: which
/// cells, how often, what is compared with what, is the engine's.
class Sampler {
 public:
  virtual ~Sampler() = default;

  /// Warms up, samples all cells of the round together until `rule.stop` lets every one end, compares the data. One
  /// answer for each cell, in order; what happens to a cell is in its answer, and never in an exception. Cells of lost
  /// endpoints may be asked for: they answer with an error or a timeout at once.
  virtual std::vector<Sampled> sample(const Round& round, const SampleRule& rule) = 0;

  /// Numbers of what a cell occupies: two that share one do not run at once where a link is measured alone.
  virtual std::vector<int> resources(const Place& place) const = 0;

  /// What is measured of a cell, by the labels of its endpoints.
  virtual std::vector<Path> paths(const Place& place) const = 0;

  /// Whether all endpoints of a cell are there.
  virtual bool is_there(const Place& place) const = 0;

  /// Whether a cell has nothing left where one of its endpoints is not there, as a fan of copies has.
  virtual bool needs_all(const Place&) const { return false; }

  /// How the cells of an endpoint end that is not there: timeout where it hung or fell silent, else error.
  virtual CellStatus lost_as(const Place&) const { return CellStatus::error; }

  /// The endpoints that were lost since the last call.
  virtual std::vector<Lost> take_lost() { return {}; }

  /// Whether the sampler itself makes data of the cell wrong, as a drill.
  virtual bool makes_wrong(const Place&) const { return false; }

  virtual Sensitivity sensitivity() const { return {}; }

  /// Of what was sampled last.
  virtual Clocking clocking() const { return {}; }
};

}  // namespace linkmatrix
