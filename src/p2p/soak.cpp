#include "p2p/soak.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace linkmatrix {
namespace {

class Soaking {
 public:
  Soaking(Measurer& measurer, Machine& machine, const SoakOptions& options, const std::optional<SimulatedFault>& fault,
          Deadline deadline, Guarded<Record>& record)
      : measurer_{measurer}, machine_{machine}, options_{options}, deadline_{deadline}, record_{record} {
    const auto& endpoints = machine.endpoints();
    for (std::size_t e = 0; fault && fault->kind == SimulatedFault::Kind::flip && e < endpoints.size(); ++e)
      if (fault->is_at(endpoints[e].label)) flips_ = static_cast<int>(e);
    states_ = machine.device_states();
    throttled_ = reasons();
  }

  void begin(const std::vector<SoakTestCase>& testcases) {
    Soak soak;
    soak.asked = options_.seconds;
    for (const SoakTestCase& one : testcases)
      soak.matrices.push_back({std::string(one.testcase.name),
                               one.shape.unit,
                               one.shape.size_bytes,
                               one.shape.rows,
                               one.shape.columns,
                               {one.shape.rows.size(), one.shape.columns.size()}});
    for (const Endpoint& endpoint : machine_.endpoints())
      if (endpoint.kind == EndpointKind::device) soak.heated.push_back({endpoint.label});
    change([&](Soak& kept) { kept = soak; });
  }

  bool is_over() const { return seconds_since(start_) >= options_.seconds; }

  void pass(const std::vector<SoakTestCase>& testcases) {
    for (std::size_t m = 0; m < testcases.size() && !is_over(); ++m) {
      heat();
      measure(testcases[m], m);
      poll_devices();
      if (m + 1 == testcases.size()) change([](Soak& soak) { ++soak.passes; });
    }
  }

 private:
  template <class Change>
  void change(const Change& change) {
    record_.change([&](Record& record) {
      if (!record.soak) record.soak.emplace();
      change(*record.soak);
      record.soak->seconds = seconds_since(start_);
    });
  }

  void heat() {
    const double left = options_.seconds - seconds_since(start_);
    const std::vector<Heated> heated = measurer_.heat(std::min(options_.burst, left), flips_, deadline_);
    change([&](Soak& soak) {
      for (const Heated& one : heated) {
        Soak::Device& device = soak.heated.at(static_cast<std::size_t>(one.endpoint));
        device.products += one.products;
        device.wrong += one.wrong;
        if (one.wrong == 0) continue;
        ++soak.failures;
        soak.note(seconds_since(start_), device.label + " computed wrong bits in " + std::to_string(one.wrong) +
                                             " of " + std::to_string(one.products) + " products");
      }
    });
  }

  /// Measures into a separate record, so that the run's first results stay unchanged.
  void measure(const SoakTestCase& one, std::size_t number) {
    Guarded<Record> again;
    MatrixResult result = measurer_.plan(one.testcase, one.plan);
    result.verify = options_.measure.verify && result.size_bytes > 0;
    again.change([&](Record& record) { record.results.push_back(std::move(result)); });
    const double began = seconds_since(start_);
    try {
      measurer_.measure(options_.measure, deadline_, again);
    } catch (...) {
      keep(again, number, began);
      throw;
    }
    keep(again, number, began);
  }

  void keep(const Guarded<Record>& again, std::size_t number, double began) {
    const Record measured = again.read([](const Record& record) { return record; });
    const MatrixResult& result = measured.results.back();
    record_.change([&](Record& record) {
      for (const auto& lost : measured.lost)
        if (std::ranges::find(record.lost, lost.label, &Lost::label) == record.lost.end()) record.lost.push_back(lost);
    });
    change([&](Soak& soak) {
      Soak::Cells& cells = soak.matrices[number];
      for (std::size_t r = 0; r < result.rows.size(); ++r)
        for (std::size_t c = 0; c < result.columns.size(); ++c) {
          const double at = began + result.ended(r, c).value_or(0);
          if (result.status(r, c) == CellStatus::ok && result.values(r, c))
            cells.series(r, c).add(*result.values(r, c), at, at / options_.seconds, result.metric == Metric::latency);
          else if (has_failed(result.status(r, c)))
            fail(soak, result, r, c, at);
        }
    });
  }

  static bool has_failed(CellStatus status) {
    return status == CellStatus::corrupt || status == CellStatus::error || status == CellStatus::timeout;
  }

  static void fail(Soak& soak, const MatrixResult& result, std::size_t r, std::size_t c, double at) {
    ++soak.failures;
    soak.note(at, result.testcase + ": " + result.rows[r] + "->" + result.columns[c] + " is " +
                      std::string(word(result.status(r, c))));
  }

  std::set<std::string> reasons() {
    const auto all = machine_.throttle_reasons();
    return {all.begin(), all.end()};
  }

  /// Returns sentences on throttle reasons that began or ended, and on errors that devices counted.
  void poll_devices() {
    if (options_.poll) options_.poll();
    const std::set<std::string> now = reasons();
    const std::vector<DeviceState> states = machine_.device_states();
    change([&](Soak& soak) {
      const double at = seconds_since(start_);
      for (const std::string& reason : now)
        if (!throttled_.contains(reason)) soak.note(at, "held back: " + reason);
      for (const std::string& reason : throttled_)
        if (!now.contains(reason)) soak.note(at, "no longer held back: " + reason);
      for (std::size_t d = 0; d < std::min({states.size(), states_.size(), soak.heated.size()}); ++d)
        for (const auto& [name, value] : states[d].counters)
          if (const auto before = states_[d].counters.find(name);
              before != states_[d].counters.end() && value > before->second)
            soak.note(at, soak.heated[d].label + ": " + name + " rose by " +
                              std::to_string(static_cast<std::uint64_t>(value - before->second)));
    });
    throttled_ = now;
    states_ = states;
  }

  Measurer& measurer_;
  Machine& machine_;
  const SoakOptions& options_;
  Deadline deadline_;
  Guarded<Record>& record_;
  std::optional<int> flips_;
  std::set<std::string> throttled_;
  std::vector<DeviceState> states_;
  const Clock::time_point start_ = Clock::now();
};

}  // namespace

void soak(Measurer& measurer, Machine& machine, const std::vector<SoakTestCase>& testcases, const SoakOptions& options,
          const std::optional<SimulatedFault>& fault, Deadline deadline, Guarded<Record>& record) {
  Soaking soaking(measurer, machine, options, fault, deadline, record);
  soaking.begin(testcases);
  while (!soaking.is_over()) soaking.pass(testcases);
}

}  // namespace linkmatrix
