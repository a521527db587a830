#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "measure/engine.hpp"

namespace linkmatrix {

/// State shared by all steps that measure one matrix: sampler, store, options and time limits. Used on one thread.
class Context {
 public:
  Context(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store);

  /// Returns labels, link classes and metric of the matrix. They do not change during the measurement.
  const MatrixDescription& description() const { return description_; }
  /// Returns the link class of a cell; "" in a matrix that is too large to store link classes.
  std::string_view link_class(const CellIndex& cell) const;
  const Work& work() const { return work_; }
  const MeasureOptions& options() const { return options_; }
  Sampler& sampler() { return sampler_; }
  Store& store() { return store_; }
  /// Returns the stop rule for samples that become values. The target is the strictest target of all link classes.
  /// After --max-time the rule takes one sample.
  StopRule stop() const;
  /// Returns whether --max-time has passed for this matrix.
  bool out_of_time() const { return soft_.passed(); }
  /// Returns the seconds since the start of the matrix.
  double seconds() const { return seconds_since(start_); }

  struct SamplingRequest {
    StopRule stop;
    bool counts = false;                ///< whether the samples become values; their data is then compared
    std::size_t round = 0;              ///< number of the round, for the record; used only if `counts`
    std::uint64_t divide_bytes_by = 1;  ///< see SampleRule::divide_bytes_by
    bool warm = false;                  ///< see SampleRule::warm
    int transfers = 0;                  ///< see SampleRule::transfers
  };
  /// Samples the cells of a round concurrently. Returns one result per cell, in order. Records corrupt cells and proven
  /// errors, even if the samples do not become values. After the run's deadline, marks the cells without a result and
  /// throws TimedOut.
  std::vector<Sampled> sample(const Round& round, const SamplingRequest& request);

  /// Stores the median of the samples as the cell's value, or its status if the cell failed.
  void store_value(const CellIndex& cell, const Sampled& sampled);
  /// Returns the target for the half width of a median's interval, as a fraction of the median: --target-ci, or the
  /// default of the link class.
  double interval_target(std::string_view link_class) const;
  /// Returns whether an earlier sampling proved that the cell cannot have a value (Sampled::is_proven).
  bool has_proven_error(const CellIndex& cell) const { return proven_errors_.contains(cell); }

  double median_of(const Sampled& sampled) const;
  /// Splits cells into rounds. Cells of a round share no resource (Sampler::resources).
  std::vector<Round> disjoint(const Round& cells) const;
  /// Returns the name of a cell, "gpu0->gpu3".
  std::string name(const CellIndex& cell) const;
  /// Adds a note to the record, unless the record contains the same note.
  void note(std::string text);
  /// Raises the recorded interference (Schedule::interference) to this fraction.
  void record_interference(double interference);
  /// Returns the first name and the number of further names: "gpu0->gpu1 and 3 more cells".
  static std::string shortened_list(const std::vector<std::string>& cells);
  /// Adds one note per type of irregularity, such as copies that did not start together.
  void note_irregularities();

 private:
  void record_lost_endpoints();
  void add_visibility(const CellIndex& cell, const Visibility& seen);
  void add_coverage(const CellIndex& cell, const Coverage& coverage);
  void mark_corrupt(const CellIndex& cell, const Sampled& sampled);
  void apply_proven_error(const CellIndex& cell, Sampled& sampled);
  void check_irregularities(const CellIndex& cell, const Sampled& sampled);
  void check_uneven_directions(const CellIndex& cell, const Sampled& sampled);

  Sampler& sampler_;
  const Work& work_;
  const MeasureOptions& options_;
  Deadline deadline_;  ///< end of the run
  Deadline soft_;      ///< end of --max-time
  Store& store_;
  MatrixDescription description_;
  StopRule stop_;
  Clock::time_point start_ = Clock::now();
  std::map<CellIndex, Coverage> compared_;  ///< sums over all samplings of a cell
  std::set<CellIndex> corrupt_;             ///< cells with wrong data, with or without a value
  std::map<CellIndex, Sampled> proven_errors_;
  std::vector<std::string> not_concurrent_;  ///< cells whose copies did not start together
  std::vector<std::string> early_;           ///< cells whose load ended early
  std::vector<std::string> uneven_;          ///< cells with one direction that ended before the other direction
  /// Cells that lack some of their copies. Key: sentence on the endpoints that took part.
  std::map<std::string, std::vector<std::string>> partial_;
};

}  // namespace linkmatrix
