#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective/collectives.hpp"
#include "measure/sampler.hpp"

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
  CellStatus lost_as(const Place&) const override { return collectives_.lost_as().value_or(CellStatus::error); }
  std::vector<Lost> take_lost() override { return collectives_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override {
    return {collectives_.engine() == Engine::nccl ? "events" : "messages", std::nullopt};
  }

  /// Elements that arrived wrong, of cells that were compared.
  const std::map<Place, std::uint64_t>& wrong() const { return wrong_; }
  /// By what each cell ran, where the library says so.
  const std::map<Place, std::string>& choices() const { return choices_; }

 private:
  Sampled sample_one(const Place& place, const SampleRule& rule);
  void verify(const Place& place, const SampleRule& rule, Sampled& answer);

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< launches by the host are noisier than copies of an engine

  Collectives& collectives_;
  Cases cases_;
  int warmup_;
  std::map<Place, std::uint64_t> wrong_;
  std::map<Place, std::string> choices_;
};

}  // namespace linkmatrix
