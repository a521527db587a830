#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/collectives.hpp"
#include "measure/sampler.hpp"
#include "measure/simulated_fault.hpp"

namespace linkmatrix {

/// Samples the cells of one collective at one size: out of place and in place, or each pair of ranks. They never run at
/// once.
class CollectiveSampler final : public Sampler {
 public:
  using Cases = std::map<Place, CollectiveCase>;

  CollectiveSampler(Collectives& collectives, Cases cases, int warmup)
      : collectives_{collectives}, cases_{std::move(cases)}, warmup_{warmup} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const Place&) const override { return {0}; }
  /// From each rank to the next: every rank takes part.
  std::vector<Path> paths(const Place& place) const override;
  bool is_there(const Place&) const override { return !collectives_.lost_as(); }
  bool needs_all(const Place&) const override { return true; }
  bool makes_wrong(const Place& place) const override { return wrong_rank(place).has_value(); }
  CellStatus lost_as(const Place&) const override { return collectives_.lost_as().value_or(CellStatus::error); }
  std::vector<Lost> take_lost() override { return collectives_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override {
    return {collectives_.engine() == Engine::nccl ? "events" : "messages", std::nullopt};
  }

  /// A drill that has data be wrong when it has arrived.
  void set_simulated_fault(const SimulatedFault& fault) { simulated_fault_ = fault; }

  /// Elements that arrived wrong, of cells that were compared.
  const std::map<Place, std::uint64_t>& wrong() const { return wrong_; }
  /// By what each cell ran, where the library says so.
  const std::map<Place, std::string>& choices() const { return choices_; }

 private:
  Sampled sample_one(const Place& place, const SampleRule& rule);
  void account(const Place& place, const Burst& burst, const CollectiveAnswer& answer, Sampled& sampled);
  int windows_of(const CollectiveCase& wanted) const;
  std::uint64_t every_for(const CollectiveCase& wanted, const CollectiveAnswer& answer) const;
  std::optional<int> wrong_rank(const Place& place) const;
  void set_wrong(const Place& place, Burst& burst);

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< launches by the host are noisier than copies of an engine

  Collectives& collectives_;
  Cases cases_;
  int warmup_;
  std::map<Place, std::uint64_t> wrong_;
  std::map<Place, std::string> choices_;
  std::optional<SimulatedFault> simulated_fault_;
  std::map<Place, std::uint64_t> fault_counts_;  ///< samples of cells so far
};

}  // namespace linkmatrix
