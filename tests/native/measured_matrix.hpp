#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/schedule.hpp"
#include "result_facts.hpp"
#include "scripted_sampler.hpp"

namespace linkmatrix {

/// Returns the rounds of an n × n matrix. Every round is a matching, in one direction and then in the other unless a
/// cell measures both.
inline std::vector<Round> matchings(std::size_t n, Metric metric = Metric::bandwidth) {
  std::vector<Round> rounds;
  for (std::size_t r = 0; r < round_robin_rounds(n); ++r)
    for (const bool back : {false, true}) {
      if (back && metric == Metric::bidirectional) continue;
      Round& round = rounds.emplace_back();
      for (const auto& [a, b] : round_robin_round(n, r)) round.push_back(back ? CellIndex{b, a} : CellIndex{a, b});
    }
  return rounds;
}

/// Measures n × n cells. together: measure rounds as a whole. Returns the record, also after TimedOut.
inline Record measured(ScriptedSampler& sampler, std::size_t n, const MeasureOptions& options = {},
                       Deadline deadline = Deadline::never(), Metric metric = Metric::bandwidth,
                       bool together = false) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < n; ++i) labels.push_back("dev" + std::to_string(i));
  Guarded<Record> record;
  const ListedRounds rounds(matchings(n, metric));
  record.change([&](Record& r) {
    MatrixResult& result = r.results.emplace_back();
    result.testcase = "pairs";
    result.metric = metric;
    result.unit = "GB/s";
    result.set_labels(labels, labels);
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column)
        if (row != column) result.status(row, column) = CellStatus::not_run;
  });
  ResultStore store(record);
  try {
    measure(sampler, {.rounds = rounds, .together = together}, options, deadline, store);
  } catch (const TimedOut&) {
  }
  return record.read([](const Record& r) { return r; });
}

inline double ten(const CellIndex&, std::size_t) { return 10; }
inline double slow_from_1_to_2(const CellIndex& index, std::size_t) { return index == CellIndex{1, 2} ? 5 : 10; }

constexpr int always = std::numeric_limits<int>::max();

/// Returns a script that makes samplings `first` to `last` of a cell, counted from 1, fail with the answer.
inline auto failing(CellIndex cell, int first, int last, Sampled answer) {
  return [=, sampling = 0](const CellIndex& index, const SampleRule&, Sampled& result) mutable {
    if (!(index == cell)) return;
    ++sampling;
    if (sampling >= first && sampling <= last) result = answer;
  };
}

}  // namespace linkmatrix
