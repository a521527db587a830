#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ranks/pair_sample.hpp"
#include "ranks/ranks.hpp"

namespace linkmatrix::ranks {

/// A mock of the MPI ranks, with scripted answers. A rank can deliver wrong bytes once, be slow, or stop answering at a
/// selected moment.
class ScriptedRanks final : public Ranks {
 public:
  /// Changes the answer to the order of a cell. The serial number counts the calls of `sample`, from 1.
  using Script = std::function<void(const Order& order, CellAnswer& answer)>;

  explicit ScriptedRanks(Script script = [](const Order&, CellAnswer&) {}) : script_{std::move(script)} {}

  std::vector<CellAnswer> sample(std::vector<Order> orders) override {
    ++calls_;
    std::vector<CellAnswer> answers;
    for (Order& order : orders) {
      order.serial = calls_;
      CellAnswer& answer = answers.emplace_back(measured(order));
      script_(order, answer);
      asked_.push_back(order);
    }
    return answers;
  }

  bool is_available(int rank) const override { return !silent_.contains(rank); }
  std::vector<Lost> take_lost() override { return std::exchange(news_, {}); }

  /// Makes a rank stop answering.
  void silence(int rank) {
    if (silent_.insert(rank).second) news_.push_back({"n0:rank" + std::to_string(rank), "it does not answer any more"});
  }
  static void time_out(CellAnswer& answer) {
    answer = {};
    answer.report.status = ReportStatus::timeout;
    put(answer.report.text, "a rank does not answer any more");
  }

  const std::vector<Order>& asked() const { return asked_; }
  int calls() const { return calls_; }

 private:
  /// Returns 10 GB/s per direction, or 1 µs.
  static CellAnswer measured(const Order& order) {
    CellAnswer answer;
    Report& report = answer.report;
    report.bytes = bytes_of(order);
    report.samples = order.stop.min_samples;
    report.verified = order.verify;
    report.copies = order.metric == Metric::bidirectional ? 2 : 1;
    Sample sample;
    sample.whole = {1, 1 + (order.metric == Metric::latency ? 1e-6 : static_cast<double>(order.bytes) / 10e9)};
    sample.directions = {sample.whole, sample.whole};
    sample.slowest = sample.whole;
    answer.samples.assign(static_cast<std::size_t>(report.samples), sample);
    return answer;
  }

  Script script_;
  std::set<int> silent_;
  std::vector<Lost> news_;
  std::vector<Order> asked_;
  int calls_ = 0;
};

}  // namespace linkmatrix::ranks
