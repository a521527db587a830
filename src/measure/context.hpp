#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "measure/engine.hpp"

namespace linkmatrix {

/// What all parts of measuring one matrix share: who samples, where cells go, and how long anything may take.
class Context {
 public:
  Context(Sampler& sampler, const Work& work, const MeasureOptions& options, Deadline deadline, Store& store);

  /// What stays the same while the matrix is measured: labels, link classes, metric.
  const MatrixDescription& shape() const { return shape_; }
  /// Empty of a matrix that is too large to hold those of all cells.
  std::string_view link_class(const Place& place) const;
  const Work& work() const { return work_; }
  const MeasureOptions& options() const { return options_; }
  Sampler& sampler() { return sampler_; }
  Store& store() { return store_; }
  /// Of a sample that counts: with a wider target where the medium is noisy, and one sample once the time is over.
  StopRule stop() const;
  bool out_of_time() const { return soft_.passed(); }
  double seconds() const { return seconds_since(start_); }

  struct SamplingRequest {
    StopRule stop;
    bool counts = false;    ///< the samples become values: then the data is compared too
    std::size_t round = 0;  ///< of which they are, where they count
    std::uint64_t divide_bytes_by = 1;
    bool warm = false;  ///< as SampleRule::warm
    int transfers = 0;  ///< as SampleRule::transfers
  };
  /// One answer for each cell. Corrupt cells and proven errors are marked whatever the answer was wanted for. Throws
  /// TimedOut when the run's deadline has passed; then what is not ok is marked.
  std::vector<Sampled> sample(const Round& round, const SamplingRequest& request);

  /// A cell's samples become its value; what failed is marked.
  void keep(const Place& place, const Sampled& sampled);
  /// Whether a sampling proved that the cell can have no value.
  bool has_proven_error(const Place& place) const { return proven_errors_.contains(place); }

  double median_of(const Sampled& sampled) const;
  /// Rounds in which no two of the cells share anything.
  std::vector<Round> disjoint(const Round& cells) const;
  /// "gpu0->gpu3".
  std::string name(const Place& place) const;
  void note(std::string text);
  /// Interference that stays in the values, as a fraction.
  void let_pass(double interference);
  /// The first of several, and how many there are.
  static std::string some_of(const std::vector<std::string>& cells);
  /// What was odd about cells that were kept, a note for each kind.
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
  std::map<Place, Coverage> compared_;  ///< of each cell, in all its samplings
  std::set<Place> corrupt_;             ///< cells of which wrong data arrived, also where no value did
  std::map<Place, Sampled> proven_errors_;
  /// Cells whose copies did not start at once, whose load ended early, one way of which ended before the other.
  std::vector<std::string> apart_, early_, uneven_;
  std::map<std::string, std::vector<std::string>> partial_;  ///< cells without some of their copies, by who took part
};

}  // namespace linkmatrix
