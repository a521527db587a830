#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "device/lost_endpoints.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// A cell of a matrix and its copies. One copy; or two directions of a bidirectional cell, the first from row to
/// column; or several copies whose total is the value. Background copies are load.
struct CopyCell {
  std::size_t row = 0, column = 0;
  std::vector<Copy> copies;
};

/// Samples cells with a back end of this process. A cell with several copies becomes partial if only some of its
/// endpoints are lost.
class CopySampler final : public Sampler {
 public:
  /// Allocates the buffers of all cells. Throws as Backend::prepare.
  ///
  /// warmup: transfers per cell before its first sample; 0: each transfer is a sample. stress: whether the cells of a
  /// round are each other's load, with repeats that make all cells equally long.
  CopySampler(Backend& backend, std::vector<CopyCell> cells, Metric metric, int warmup, bool stress, Deadline deadline);

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const CellIndex& index) const override;
  std::vector<Path> paths(const CellIndex& index) const override;
  bool is_available(const CellIndex& index) const override;
  CellStatus lost_status(const CellIndex& index) const override;
  bool simulates_corruption(const CellIndex& index) const override {
    return simulated_fault_.has && are_runs_compared(cell(index).copies);
  }

  /// Simulated corruption of every `every`-th sample.
  struct SimulatedCorruption {
    std::uint64_t every = 1;
    std::function<bool(const Copy&)> has;  ///< whether a copy is corrupted
  };
  void set_simulated_fault(SimulatedCorruption fault) { simulated_fault_ = std::move(fault); }
  std::vector<Lost> take_lost() override { return lost_.take(); }
  Clocking clocking() const override { return clocking_; }

 private:
  struct Group;
  void prepare(Deadline deadline);
  void sample_concurrently(Group& group, const SampleRule& rule);
  void take_samples(Group& group, const SampleRule& rule);
  std::optional<Timeline> choose_repeats(Group& group, const SampleRule& rule);
  bool adjust_repeats(Group& group, const Timeline& timeline, const SampleRule& rule);
  void keep_repeats(const Group& group, const SampleRule& rule);
  bool reuse_repeats(Group& group) const;
  void next_window(Group& group, const SampleRule& rule);
  std::vector<std::vector<std::size_t>> busy_sets(const Group& group) const;
  bool are_runs_compared(const std::vector<Copy>& copies) const;
  void lay_patterns(Group& group, const SampleRule& rule);
  void poison_some(Group& group, const SampleRule& rule);
  void compare_run(Group& group, const SampleRule& rule, const Timeline& timeline, double run_seconds);
  void verify(Group& group, const SampleRule& rule);
  static void mark_corrupt(Sampled& answer, const PatternCheck& check);
  std::vector<bool> started_concurrently(const Group& group, const Timeline& timeline) const;
  bool append(Group& group, const Timeline& timeline, bool always);
  void add_visibility_results(Group& group, const Timeline& timeline);
  void end_failed_cells(Group& group, const std::vector<std::size_t>& owners, const CopiesFailed& failure);
  const CopyCell& cell(const CellIndex& index) const { return cells_.at(index_.at(index)); }
  std::string label(int endpoint) const;

  Backend& backend_;
  std::vector<CopyCell> cells_;
  std::map<CellIndex, std::size_t> index_;
  Metric metric_;
  int warmup_;
  bool stress_;
  Clocking clocking_;                                ///< worst clocking so far
  std::map<std::size_t, std::vector<int>> repeats_;  ///< repeats of a cell's copies in its last sampling
  std::uint64_t windows_ = 0;                        ///< counts the buffer parts that short samples used
  std::map<std::size_t, Sampled> unseen_;  ///< results of visibility tests with a missing flag or answer; not repeated
  LostEndpoints lost_;
  SimulatedCorruption simulated_fault_;
  std::map<std::size_t, std::uint64_t> fault_counts_;  ///< number of samples per cell so far
};

}  // namespace linkmatrix
