#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "leaf_switches.hpp"
#include "measure/matching_schedule.hpp"

namespace linkmatrix {

/// Endpoints on a network without bottlenecks and with realistic noise. It is independent of the search for faults. The
/// rate of a cell is the lower of the source's send rate and the destination's receive rate.
class SimulatedNetwork final : public Sampler {
 public:
  struct Fault {
    std::size_t endpoint;
    bool sends, receives;
    double loss;                                       ///< as a fraction
    double presence = 1;                               ///< in which share of the samplings
    std::size_t until = static_cast<std::size_t>(-1);  ///< samplings, after which it has passed
  };
  struct Noise {
    double sigma = 0.005;                 ///< of each sampling, lognormal
    double spread = 0.002;                ///< of healthy endpoints, lognormal
    double flukes = 0.005, depth = 0.05;  ///< share of the samplings that are slower by an exponential of that mean
  };

  SimulatedNetwork(std::size_t endpoints, const Noise& noise, std::vector<Fault> faults, unsigned seed)
      : noise_{noise}, faults_{std::move(faults)}, random_{seed} {
    for (auto* ends : {&sends_, &receives_})
      for (std::size_t k = 0; k < endpoints; ++k) ends->push_back(std::exp(-std::abs(normal_(random_)) * noise.spread));
  }

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override {
    ++samplings;
    std::map<std::size_t, double> sent, received;  // of those at fault
    for (const Fault& fault : faults_) {
      if (samplings > fault.until || !std::bernoulli_distribution(fault.presence)(random_)) continue;
      if (fault.sends) sent[fault.endpoint] = 1 - fault.loss;
      if (fault.receives) received[fault.endpoint] = 1 - fault.loss;
    }
    std::map<CellIndex, double> slow;
    for (const auto& [index, loss] : slow_paths) slow[index] = 1 - loss;
    std::vector<double> rates;  // in lines
    for (const CellIndex& index : round) {
      const auto end = [](const auto& faulty, const auto& healthy, std::size_t at) {
        const auto found = faulty.find(at);
        return healthy[at] * (found == faulty.end() ? 1 : found->second);
      };
      rates.push_back(std::min(end(sent, sends_, index.row), end(received, receives_, index.column)));
      if (const auto path = slow.find(index); path != slow.end()) rates.back() *= path->second;
    }
    leaves.limit(round, rates, random_);
    std::vector<Sampled> answers;
    for (std::size_t k = 0; k < round.size(); ++k) {
      double rate = 50 * rates[k];
      if (round.size() > most_at_once) rate *= static_cast<double>(most_at_once) / static_cast<double>(round.size());
      rate *= std::exp(noise_.sigma * normal_(random_));
      if (std::bernoulli_distribution(noise_.flukes)(random_))
        rate *= std::exp(-std::exponential_distribution<double>(1 / noise_.depth)(random_));
      answers.push_back(sampled(rate, rule));
      if (dead.contains(round[k].row) || dead.contains(round[k].column)) {
        answers.back() = {};
        answers.back().status = CellStatus::timeout;
        answers.back().why = "a rank does not answer any more";
      }
    }
    return answers;
  }
  std::vector<int> resources(const CellIndex& index) const override {
    return {static_cast<int>(index.row), static_cast<int>(index.column)};
  }
  std::vector<Path> paths(const CellIndex& index) const override {
    return {{std::to_string(index.row), std::to_string(index.column)}};
  }
  bool is_available(const CellIndex& index) const override {
    return !lost.contains(index.row) && !lost.contains(index.column);
  }

  std::map<CellIndex, double> slow_paths;                   ///< by how much
  std::size_t most_at_once = static_cast<std::size_t>(-1);  ///< cells that the network carries at full rate
  std::set<std::size_t> dead, lost;  ///< endpoints that answer nothing, and that are not even asked
  LeafSwitches leaves;
  std::size_t samplings = 0;

 private:
  static Sampled sampled(double rate, const SampleRule& rule) {
    Sampled answer;
    answer.bytes = 1e9;
    answer.verified = rule.verify;
    Sample sample{.whole = {0, 1 / rate}};
    sample.slowest = sample.directions[0] = sample.directions[1] = sample.whole;
    answer.samples.assign(static_cast<std::size_t>(std::max(1, rule.stop.min_samples)), sample);
    return answer;
  }

  Noise noise_;
  std::vector<Fault> faults_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  std::vector<double> sends_, receives_;
};

/// Stores the measured cells only: a few of a matrix of thousands of endpoints.
class FewCells final : public Store {
 public:
  explicit FewCells(std::size_t endpoints, Metric metric = Metric::bandwidth) {
    result.metric = metric;
    for (std::size_t k = 0; k < endpoints; ++k) result.rows.push_back("n" + std::to_string(k));
    result.columns = result.rows;
  }

  void put(const CellIndex& index, const CellValue& cell) override { cells[index] = cell; }
  void mark(const CellIndex& index, CellStatus status) override { cells[index].status = status; }
  void fail(const CellIndex& index, CellStatus status) override { (cells[index] = {}).status = status; }
  std::optional<double> value(const CellIndex& index) const override {
    const auto at = cells.find(index);
    return at == cells.end() || at->second.samples == 0 ? std::nullopt : std::optional(at->second.value);
  }
  CellStatus status(const CellIndex& index) const override {
    const auto at = cells.find(index);
    return at == cells.end() ? CellStatus::not_applicable : at->second.status;
  }
  std::optional<Interval> interval(const CellIndex&) const override { return std::nullopt; }
  void add_lost(const Lost&) override {}
  void change(const std::function<void(MatrixResult&)>& change) override { change(result); }

  MatrixResult result;
  std::map<CellIndex, CellValue> cells;
};

/// Returns the groups of endpoints with one endpoint per node.
inline EndpointGroups apart(std::size_t endpoints) {
  EndpointGroups groups{std::vector<std::size_t>(endpoints), std::vector<std::size_t>(endpoints)};
  for (std::size_t k = 0; k < endpoints; ++k) groups.node[k] = k;
  return groups;
}

/// Measures a few matchings without pauses, one sample per cell. Leaves are the groups, if the network has leaves.
inline FewCells measured_by_matchings(SimulatedNetwork& network, std::size_t endpoints, std::uint32_t seed,
                                      Metric metric = Metric::bandwidth, double max_seconds = 600) {
  EndpointGroups groups = apart(endpoints);
  for (std::size_t k = 0; k < endpoints && network.leaves.endpoints > 0; ++k)
    groups.group.push_back("leaf" + std::to_string(k / network.leaves.endpoints));
  FewCells cells(endpoints, metric);
  MeasureOptions options;
  options.stop.min_samples = options.stop.max_samples = 1;
  options.seed = seed;
  options.confirm_after = 0;
  options.max_seconds = max_seconds;
  measure_matchings(network, groups, options, Deadline::never(), cells);
  return cells;
}

}  // namespace linkmatrix
