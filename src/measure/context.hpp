#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "measure/engine.hpp"

namespace linkmatrix {

/// State that all steps of measuring one matrix share: sampler, store, options and time limits.
class Context {
 public:
  Context(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store);

  /// Returns the constant description of the matrix: labels, link classes, metric.
  const MatrixDescription& shape() const { return shape_; }
  /// Returns the link class of a cell; "" in a matrix that is too large to store link classes.
  std::string_view link_class(const Place& place) const;
  const Work& work() const { return work_; }
  const MeasureOptions& options() const { return options_; }
  Sampler& sampler() { return sampler_; }
  Store& store() { return store_; }
  /// Returns the stop rule of samples that become values, with the strictest target of the link classes. After the time
  /// limit the rule allows one sample.
  StopRule stop() const;
  bool out_of_time() const { return soft_.passed(); }
  double seconds() const { return seconds_since(start_); }

  struct SamplingRequest {
    StopRule stop;
    bool counts = false;    ///< whether the samples become values; their data is then compared
    std::size_t round = 0;  ///< round of the samples, if `counts`
    std::uint64_t divide_bytes_by = 1;
    bool warm = false;  ///< see SampleRule::warm
    int transfers = 0;  ///< see SampleRule::transfers
  };
  /// Samples the cells of a round and returns one result per cell. Corrupt cells and proven errors are always recorded.
  /// Throws TimedOut when the run's deadline has passed; cells without a result are then marked.
  std::vector<Sampled> sample(const Round& round, const SamplingRequest& request);

  /// Stores the samples as the cell's value, or its status if the cell failed.
  void keep(const Place& place, const Sampled& sampled);
  /// Returns the target of the relative half width of a median's interval: --target-ci, or the default of the class.
  double target_of(std::string_view link_class) const;
  /// Returns whether a sampling proved that the cell cannot have a value.
  bool has_proven_error(const Place& place) const { return proven_errors_.contains(place); }

  double median_of(const Sampled& sampled) const;
  /// Splits cells into rounds in which no two cells share a resource.
  std::vector<Round> disjoint(const Round& cells) const;
  /// Returns the name of a cell, "gpu0->gpu3".
  std::string name(const Place& place) const;
  void note(std::string text);
  /// Records interference that remains in the values, as a fraction.
  void let_pass(double interference);
  /// Returns the first name and the number of others: "gpu0->gpu1 and 3 more cells".
  static std::string some_of(const std::vector<std::string>& cells);
  /// Adds one note per type of irregularity of the stored cells.
  void note_irregularities();

 private:
  void take_lost();
  void count(const Place& place, const Visibility& seen);
  void count(const Place& place, const Coverage& coverage);
  void condemn(const Place& place, const Sampled& sampled);
  void keep_proven_error(const Place& place, Sampled& sampled);
  void check_irregularities(const Place& place, const Sampled& sampled);
  void check_uneven_directions(const Place& place, const Sampled& sampled);

  Sampler& sampler_;
  const Work& work_;
  const MeasureOptions& options_;
  Deadline deadline_, soft_;
  Store& store_;
  MatrixDescription shape_;
  StopRule stop_;
  Clock::time_point start_ = Clock::now();
  std::map<Place, Coverage> compared_;  ///< comparison of data of each cell, over all its samplings
  std::set<Place> corrupt_;             ///< cells with wrong data, also without a value
  std::map<Place, Sampled> proven_errors_;
  /// Cells whose copies did not start together, whose load ended early, or whose two directions did not end together.
  std::vector<std::string> not_concurrent_, early_, uneven_;
  /// Cells without some of their copies, by the participating endpoints.
  std::map<std::string, std::vector<std::string>> partial_;
};

}  // namespace linkmatrix
