#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/statistics.hpp"
#include "measure/rounds.hpp"
#include "measure/sample.hpp"

namespace linkmatrix {

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
