#pragma once

#include <vector>

#include "measure/sampler.hpp"
#include "ranks/messages.hpp"
#include "ranks/rank_rounds.hpp"
#include "ranks/rank_table.hpp"
#include "ranks/ranks.hpp"

namespace linkmatrix::ranks {

/// Samples the cells of a matrix between ranks: rank 0 tells those of each cell what to exchange, and collects their
/// samples. It alone knows the schedule; every other rank needs no more than its next order.
class Coordinator final : public Sampler {
 public:
  /// table: who the ranks are. rounds: which pairs of them a cell is. form: what all orders have in common.
  Coordinator(Ranks& ranks, const RankTable& table, const RankRounds& rounds, const Order& form)
      : ranks_{ranks}, table_{table}, rounds_{rounds}, form_{form} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const Place& place) const override;
  std::vector<Path> paths(const Place& place) const override;
  bool is_there(const Place& place) const override;
  CellStatus lost_as(const Place& place) const override;
  std::vector<Lost> take_lost() override { return ranks_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override { return {"messages", std::nullopt}; }

 private:
  Order order_for(const Place& place, const SampleRule& rule) const;

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< networks and shared cores are noisier than links of GPUs

  Ranks& ranks_;
  const RankTable& table_;
  const RankRounds& rounds_;
  Order form_;
};

}  // namespace linkmatrix::ranks
