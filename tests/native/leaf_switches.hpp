#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "measure/rounds.hpp"

namespace linkmatrix {

/// The uplinks of leaf switches, in units of one endpoint's line rate. Transfers share them with max-min fairness.
struct LeafSwitches {
  std::size_t endpoints = 0;    ///< of each; 0: there are none
  std::vector<double> uplinks;  ///< of each leaf, to all others and from them
  bool is_hashed = false;       ///< each flow takes one line at random, out and in; else all that are there

  /// Limits the rates, in units of the line rate, to the capacity of the uplinks.
  void limit(const Round& round, std::vector<double>& rates, std::mt19937& random) const {
    if (endpoints == 0) return;
    std::vector<double> capacity;
    std::vector<std::size_t> first;  // line of a leaf: out, and behind all of these in
    for (int way = 0; way < 2; ++way)
      for (const double lines : uplinks) {
        first.push_back(capacity.size());
        const auto count = static_cast<std::size_t>(is_hashed ? lines : 1);
        for (std::size_t k = 0; k < count; ++k) capacity.push_back(is_hashed ? 1 : lines);
      }
    const auto first_line = [&](std::size_t leaf, bool in) {
      const std::size_t at = in ? uplinks.size() + leaf : leaf;
      return first[at] + (is_hashed ? random() % static_cast<std::size_t>(uplinks[leaf]) : 0);
    };
    struct Flow {
      std::size_t index, out, in;
    };
    std::vector<Flow> open;
    for (std::size_t k = 0; k < round.size(); ++k)
      if (const std::size_t from = round[k].row / endpoints, to = round[k].column / endpoints; from != to)
        open.push_back({k, first_line(from, false), first_line(to, true)});
    double level = 0;  // what each open flow has
    while (!open.empty()) {
      std::vector<double> flows(capacity.size());
      for (const Flow& flow : open) ++flows[flow.out], ++flows[flow.in];
      double step = 1e9;
      for (const Flow& flow : open) step = std::min(step, rates[flow.index] - level);
      for (std::size_t line = 0; line < capacity.size(); ++line)
        if (flows[line] > 0) step = std::min(step, capacity[line] / flows[line]);
      step = std::max(step, 0.0);
      level += step;
      for (std::size_t line = 0; line < capacity.size(); ++line) capacity[line] -= step * flows[line];
      std::erase_if(open, [&](const Flow& flow) {
        const bool is_full = std::min(capacity[flow.out], capacity[flow.in]) < 1e-9;
        const bool is_done = rates[flow.index] - level < 1e-9;
        if (is_full) rates[flow.index] = level;
        return is_full || is_done;
      });
    }
  }
};

}  // namespace linkmatrix
