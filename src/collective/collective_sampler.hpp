#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/collectives.hpp"
#include "measure/sampler.hpp"
#include "measure/simulated_fault.hpp"

namespace linkmatrix {

/// Samples the cells of one collective at one size, one cell at a time. A cell is a CollectiveCase, such as in place.
class CollectiveSampler final : public Sampler {
 public:
  using Cases = std::map<CellIndex, CollectiveCase>;

  CollectiveSampler(Collectives& collectives, Cases cases, int warmup)
      : collectives_{collectives}, cases_{std::move(cases)}, warmup_{warmup} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const CellIndex&) const override { return {0}; }
  /// Returns a path from each participating rank to the next.
  std::vector<Path> paths(const CellIndex& cell) const override;
  bool is_available(const CellIndex&) const override { return !collectives_.lost_status(); }
  bool needs_all(const CellIndex&) const override { return true; }
  bool simulates_corruption(const CellIndex& cell) const override { return wrong_rank(cell).has_value(); }
  CellStatus lost_status(const CellIndex&) const override {
    return collectives_.lost_status().value_or(CellStatus::error);
  }
  std::vector<Lost> take_lost() override { return collectives_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override {
    return {collectives_.engine() == Engine::nccl ? "events" : "messages", std::nullopt};
  }

  /// Simulates `corrupt`: data becomes wrong after its arrival.
  void set_simulated_fault(const SimulatedFault& fault) { simulated_fault_ = fault; }

  /// Returns the number of wrong elements of each compared cell.
  const std::map<CellIndex, std::uint64_t>& wrong() const { return wrong_; }
  /// Returns the algorithm of each cell, if the library reports it (last_choice()).
  const std::map<CellIndex, std::string>& choices() const { return choices_; }

 private:
  Sampled sample_one(const CellIndex& cell, const SampleRule& rule);
  void account(const CellIndex& cell, const Burst& burst, const CollectiveAnswer& answer, Sampled& sampled);
  int windows_of(const CollectiveCase& wanted) const;
  std::uint64_t every_for(const CollectiveCase& wanted, const CollectiveAnswer& answer) const;
  std::optional<int> wrong_rank(const CellIndex& cell) const;
  void set_wrong(const CellIndex& cell, Burst& burst);

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< host launches are noisier than copy engines

  Collectives& collectives_;
  Cases cases_;
  int warmup_;
  std::map<CellIndex, std::uint64_t> wrong_;
  std::map<CellIndex, std::string> choices_;
  std::optional<SimulatedFault> simulated_fault_;
  std::map<CellIndex, std::uint64_t> fault_counts_;  ///< number of samples per cell so far
};

}  // namespace linkmatrix
