#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "measure/engine.hpp"

namespace linkmatrix {

/// A sampler with scripted answers, for tests of the rules of measuring. It copies nothing. A cell of n × n endpoints
/// occupies its two endpoints.
class ScriptedSampler final : public Sampler {
 public:
  /// Returns the GB/s of a cell. at_once: number of concurrent cells.
  using Rate = std::function<double(const CellIndex&, std::size_t at_once)>;

  explicit ScriptedSampler(Rate rate) : rate_{std::move(rate)} {}

  std::vector<Sampled> sample(const Round& round, const SampleRule& rule) override {
    rounds.push_back(round);
    samples.push_back(std::max(1, rule.stop.min_samples));
    counted.push_back(rule.verify);
    std::vector<Sampled> answers;
    for (const CellIndex& cell : round) {
      Sampled answer;
      answer.bytes = 1e9;
      const double seconds = 1 / rate_(cell, round.size());
      for (int s = 0; s < std::max(1, rule.stop.min_samples); ++s) answer.samples.push_back({.whole = {0, seconds}});
      for (Sample& sample : answer.samples) sample.slowest = sample.directions[0] = sample.directions[1] = sample.whole;
      answer.verified = rule.verify;
      if (script) script(cell, rule, answer);
      answers.push_back(std::move(answer));
    }
    return answers;
  }
  std::vector<int> resources(const CellIndex& cell) const override {
    return {static_cast<int>(cell.row), static_cast<int>(cell.column)};
  }
  std::vector<Path> paths(const CellIndex& cell) const override {
    return {{"dev" + std::to_string(cell.row), "dev" + std::to_string(cell.column)}};
  }
  bool is_available(const CellIndex& cell) const override {
    return !gone.contains(cell.row) && !gone.contains(cell.column);
  }
  CellStatus lost_status(const CellIndex&) const override { return CellStatus::timeout; }
  std::vector<Lost> take_lost() override { return std::exchange(news, {}); }

  void lose(std::size_t endpoint) {
    if (gone.insert(endpoint).second) news.push_back({"dev" + std::to_string(endpoint), "it does not answer any more"});
  }

  /// Changes a cell's answer.
  std::function<void(const CellIndex&, const SampleRule&, Sampled&)> script;
  std::vector<Round> rounds;  ///< all that were sampled …
  std::vector<int> samples;   ///< … how often …
  std::vector<bool> counted;  ///< … and whether for values, or to decide something
  std::set<std::size_t> gone;
  std::vector<Lost> news;

 private:
  Rate rate_;
};

}  // namespace linkmatrix
