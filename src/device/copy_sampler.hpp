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

/// A cell of a matrix and the copies that measure it: one; for a bidirectional cell the two directions, the first from
/// row to column; or all that together make the cell's value. Background copies load it and count for nothing.
struct CopyCell {
  std::size_t row = 0, column = 0;
  std::vector<Copy> copies;
};

/// Samples cells by a back end of this process. A cell is lost with its endpoints; of a fan, whose copies end at
/// several, those of an endpoint that is lost are left out, and the cell is partial.
class CopySampler final : public Sampler {
 public:
  /// stress: the cells of a round are each other's load, and are repeated so that all run as long.
  /// warmup: transfers of each cell before its first sample; 0: each transfer is a sample. Makes the buffers; throws as
  /// Backend::prepare.
  CopySampler(Backend& backend, std::vector<CopyCell> cells, Metric metric, int warmup, bool stress, Deadline deadline);

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const Place& place) const override;
  std::vector<Path> paths(const Place& place) const override;
  bool is_there(const Place& place) const override;
  CellStatus lost_as(const Place& place) const override;
  bool makes_wrong(const Place& place) const override {
    return simulated_fault_.has && are_runs_compared(cell(place).copies);
  }

  /// Data that is to be wrong at its destination after every so many-th sample of a cell.
  struct SimulatedCorruption {
    std::uint64_t every = 1;
    std::function<bool(const Copy&)> has;  ///< whose data it is
  };
  void set_simulated_fault(SimulatedCorruption fault) { simulated_fault_ = std::move(fault); }
  std::vector<Lost> take_lost() override { return lost_.take(); }
  Clocking clocking() const override { return clocking_; }

 private:
  struct Group;
  void prepare(Deadline deadline);
  void sample_together(Group& group, const SampleRule& rule);
  void take_samples(Group& group, const SampleRule& rule);
  std::optional<Timeline> choose_repeats(Group& group, const SampleRule& rule);
  bool choose_again(Group& group, const Timeline& timeline, const SampleRule& rule);
  void keep_repeats(const Group& group, const SampleRule& rule);
  bool reuse_repeats(Group& group) const;
  void next_window(Group& group, const SampleRule& rule);
  std::vector<std::vector<std::size_t>> even_sets(const Group& group) const;
  bool are_runs_compared(const std::vector<Copy>& copies) const;
  void lay_patterns(Group& group, const SampleRule& rule);
  void poison_some(Group& group, const SampleRule& rule);
  void compare_run(Group& group, const SampleRule& rule, const Timeline& timeline, double run_seconds);
  void verify(Group& group, const SampleRule& rule);
  static void condemn(Sampled& answer, const PatternCheck& check);
  std::vector<bool> began_together(const Group& group, const Timeline& timeline) const;
  bool append(Group& group, const Timeline& timeline, bool whatever);
  void look_at_visibility(Group& group, const Timeline& timeline);
  void blame(Group& group, const std::vector<std::size_t>& owners, const CopiesFailed& failure);
  const CopyCell& cell(const Place& place) const { return cells_.at(index_.at(place)); }
  std::string label(int endpoint) const;

  Backend& backend_;
  std::vector<CopyCell> cells_;
  std::map<Place, std::size_t> index_;
  Metric metric_;
  int warmup_;
  bool stress_;
  Clocking clocking_;                                ///< the worst so far
  std::map<std::size_t, std::vector<int>> repeats_;  ///< of a cell's copies when it was sampled last
  std::uint64_t windows_ = 0;                        ///< parts of a buffer that short samples moved
  std::map<std::size_t, Sampled>
      unseen_;  ///< cells whose flags or answers did not come, without their counts: not tried again
  LostEndpoints lost_;
  SimulatedCorruption simulated_fault_;
  std::map<std::size_t, std::uint64_t> fault_counts_;  ///< samples of cells so far
};

}  // namespace linkmatrix
