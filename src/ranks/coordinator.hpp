#pragma once

#include <vector>

#include "measure/sampler.hpp"
#include "ranks/messages.hpp"
#include "ranks/rank_rounds.hpp"
#include "ranks/rank_table.hpp"
#include "ranks/ranks.hpp"

namespace linkmatrix::ranks {

/// The Sampler of a matrix between ranks, on rank 0. Sends orders to the ranks of each cell and collects their samples.
class Coordinator final : public Sampler {
 public:
  /// Keeps references to all arguments except `form`, the template of all orders.
  Coordinator(Ranks& ranks, const RankTable& table, const RankRounds& rounds, const Order& form)
      : ranks_{ranks}, table_{table}, rounds_{rounds}, form_{form} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override;
  std::vector<int> resources(const CellIndex& cell) const override;
  std::vector<Path> paths(const CellIndex& cell) const override;
  bool is_available(const CellIndex& cell) const override;
  CellStatus lost_status(const CellIndex& cell) const override;
  std::vector<Lost> take_lost() override { return ranks_.take_lost(); }
  Sensitivity sensitivity() const override { return {least_, most_}; }
  Clocking clocking() const override { return {"messages", std::nullopt}; }

 private:
  Order order_for(const CellIndex& cell, const SampleRule& rule) const;

  static constexpr double least_ = 0.01, most_ = 0.03;  ///< networks and shared cores are noisier than GPU links

  Ranks& ranks_;
  const RankTable& table_;
  const RankRounds& rounds_;
  Order form_;
};

}  // namespace linkmatrix::ranks
