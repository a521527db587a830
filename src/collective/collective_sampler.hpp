#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective/collectives.hpp"
#include "measure/sampler.hpp"

namespace linkmatrix {

/// Samples the cells of one collective at one size: out of place, and in place. They never run at once.
class CollectiveSampler final : public Sampler {
 public:
  /// cases: one for each column.
  CollectiveSampler(Collectives& collectives, std::vector<CollectiveCase> cases, int warmup)
      : collectives_{collectives}, cases_{std::move(cases)}, warmup_{warmup} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const Place&) const override { return {0}; }
  /// From each rank to the next: every rank takes part.
  std::vector<Path> paths(const Place& place) const override;
  bool is_there(const Place&) const override { return !collectives_.lost_as(); }
  CellStatus lost_as(const Place&) const override { return collectives_.lost_as().value_or(CellStatus::error); }
  std::vector<Lost> take_lost() override { return collectives_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override {
    return {collectives_.engine() == Engine::nccl ? "events" : "messages", std::nullopt};
  }

  /// Elements that arrived wrong, by column; of those that were compared.
  const std::map<std::size_t, std::uint64_t>& wrong() const { return wrong_; }
  /// By what each column ran, where the library says so.
  const std::map<std::size_t, std::string>& choices() const { return choices_; }
  /// Seconds of one collective at the slowest rank, over the mean of all ranks; of the last sample, by column.
  const std::map<std::size_t, double>& slowest() const { return slowest_; }

 private:
  Sampled sample_one(std::size_t column, const SampleRule& rule);
  void verify(std::size_t column, const SampleRule& rule, Sampled& answer);

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< launches by the host are noisier than copies of an engine

  Collectives& collectives_;
  std::vector<CollectiveCase> cases_;
  int warmup_;
  std::map<std::size_t, std::uint64_t> wrong_;
  std::map<std::size_t, std::string> choices_;
  std::map<std::size_t, double> slowest_;
};

}  // namespace linkmatrix
