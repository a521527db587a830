#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure/sampler.hpp"
#include "nbody/nbody_system.hpp"

namespace linkmatrix {

/// Samples one number of bodies on several numbers of devices. Each number of devices is a cell. One cell at a time.
class NbodySampler final : public Sampler {
 public:
  using Cases = std::map<CellIndex, NbodyCase>;

  /// steps: steps per sample; 0: chosen by their duration.
  NbodySampler(NbodySystem& system, Cases cases, int steps)
      : system_{system}, cases_{std::move(cases)}, steps_{steps} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const CellIndex&) const override { return {0}; }
  /// Returns paths from each device to the next; for a single device, to itself.
  std::vector<Path> paths(const CellIndex& cell) const override;
  bool is_available(const CellIndex& cell) const override { return !system_.lost_status(cases_.at(cell).devices); }
  bool needs_all(const CellIndex&) const override { return true; }
  CellStatus lost_status(const CellIndex& cell) const override {
    return system_.lost_status(cases_.at(cell).devices).value_or(CellStatus::error);
  }
  std::vector<Lost> take_lost() override { return system_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override { return {system_.timing(), std::nullopt}; }

 private:
  Sampled sample_one(const NbodyCase& wanted, const SampleRule& rule);

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< devices wait for each other in every step

  NbodySystem& system_;
  Cases cases_;
  int steps_;
};

}  // namespace linkmatrix
