#include "p2p/run.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <mutex>

#include "core/record.hpp"
#include "core/sweep.hpp"
#include "core/table.hpp"
#include "core/watchdog.hpp"
#include "device/host/host_facts.hpp"
#include "p2p/backends.hpp"
#include "p2p/plan.hpp"

namespace linkmatrix {
namespace {

constexpr double watchdog_grace = 10;  // seconds after the deadline that every wait looks at itself

struct Outcome {
  std::string_view result;
  ExitCode code;
};

constexpr Outcome passed{"PASS", ExitCode::measured}, failed{"FAIL", ExitCode::failed},
    broken{"ERROR", ExitCode::device_error}, refused{"ERROR", ExitCode::bad_input},
    late{"TIMEOUT", ExitCode::timed_out};

Health open_health(const Endpoint& device, const DeviceState& state) {
  Health health{device.label, {}, {}};
  for (const auto& [name, value] : state.counters) health.counters.push_back({name, value, std::nullopt});
  for (const auto& [name, value] : state.readings) health.readings.push_back({name, value, std::nullopt});
  return health;
}

/// Fills in what is said after the run; what was not known before it is added.
void close_items(std::vector<Health::Item>& items, const std::map<std::string, double>& after) {
  for (const auto& [name, value] : after) {
    const auto item = std::find_if(items.begin(), items.end(), [&n = name](const auto& i) { return i.name == n; });
    if (item != items.end())
      item->after = value;
    else
      items.push_back({name, std::nullopt, value});
  }
}

void close_health(Health& health, const DeviceState& state) {
  close_items(health.counters, state.counters);
  close_items(health.readings, state.readings);
}

/// One run: its record grows matrix by matrix and is written whatever happens.
class P2pRun {
 public:
  explicit P2pRun(const P2pOptions& options)
      : options_{options}, start_{Clock::now()}, deadline_{Deadline::in(options.timeout)} {
    record_.program = "p2p_matrix";
    record_.started = utc_now();
    record_.command = options.command;
    const HostFacts facts = host_facts();
    record_.host = {facts.name, facts.cpu, facts.cores, facts.numa_nodes};
  }

  ExitCode run() {
    if (options_.record) check_writable(*options_.record);
    const Watchdog watchdog(Deadline::in(options_.timeout + watchdog_grace),
                            [this](const std::string& why) { end_broken(late, why); });
    try {
      start_up();
      if (measurer_->only_serves()) return measurer_->serve(), ExitCode::measured;
      if (options_.action != P2pOptions::Action::topology) measure_all();
    } catch (const BadInput& e) {
      if (measurer_) measurer_->dismiss(ExitCode::bad_input);
      if (record_.results.empty()) throw;
      end_broken(refused, e.what());
    } catch (const DeviceError& e) {
      end_broken(broken, e.what());
    } catch (const TimedOut& e) {
      const std::string signal = stop_reason();
      end_broken(late, signal.empty() ? e.what() : signal);
    }
    const auto states = machine().device_states();
    const std::lock_guard lock(mutex_);
    for (std::size_t d = 0; d < states.size() && d < record_.health.size(); ++d)
      close_health(record_.health[d], states[d]);
    const Outcome outcome = judge();
    finish(outcome, std::nullopt);
    measurer_->dismiss(outcome.code);
    return outcome.code;
  }

 private:
  void start_up() {
    ChosenMeasurer chosen = choose_measurer(options_);
    const std::lock_guard lock(mutex_);
    measurer_ = std::move(chosen.measurer);
    root_ = machine().is_root();
    record_.backend = machine().name();
    for (const Endpoint& endpoint : machine().endpoints())
      if (endpoint.kind == EndpointKind::device) record_.devices.push_back(endpoint);
    record_.topology = machine().topology();
    record_.software = machine().software();
    const auto states = machine().device_states();
    for (std::size_t d = 0; d < states.size(); ++d)
      record_.health.push_back(open_health(record_.devices[d], states[d]));
    if (!chosen.note.empty()) record_.notes.push_back(chosen.note);
    if (options_.fault) record_.notes.push_back("simulated fault: " + options_.fault->text());
    end_phase("start-up");
    if (root_) print_head(std::cout, record_, options_.max_display);
  }

  Machine& machine() { return measurer_->machine(); }

  /// Named test cases must run; of a suite or of axes, those that can.
  std::vector<TestCase> testcases() {
    if (!options_.named.empty()) return options_.named;
    Axes axes = options_.axes;
    if (measurer_->chooses_memory()) axes.memory.reset();
    const auto wanted = axes.any() ? matching_testcases(axes) : suite(options_.suite.value_or("quick"));
    std::vector<TestCase> possible;
    std::string reason;
    for (const TestCase& t : wanted) {
      if (const auto why = measurer_->why_not(t, options_.plan))
        reason = *why;
      else
        possible.push_back(t);
    }
    if (possible.empty()) throw BadInput("none of the asked test cases can run here: " + reason);
    return possible;
  }

  void measure_all() {
    for (const TestCase& testcase : testcases()) {
      const std::size_t first = record_.results.size();
      const auto plans = variations(testcase);
      for (std::size_t i = 0; i < plans.size(); ++i)
        measure_one(testcase, plans[i], i + 1 == plans.size() ? first : none);
    }
    end_phase("measure");
  }

  /// Every size with every number of blocks, where the test case knows of them.
  std::vector<PlanOptions> variations(const TestCase& testcase) const {
    std::vector<std::uint64_t> sizes{measurer_->default_bytes(testcase)};
    std::vector<int> blocks{0};
    if (!options_.sizes.empty()) sizes = options_.sizes;
    if (measurer_->has_own_size(testcase))
      sizes.resize(1);
    else if (testcase.engine != Engine::mpi && std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
      throw BadInput("--size 0 is for latencies between ranks, under mpirun");
    if (testcase.engine == Engine::sm && testcase.operation == Operation::copy && !options_.blocks.empty())
      blocks = options_.blocks;
    std::vector<PlanOptions> out;
    for (const int count : blocks)
      for (const std::uint64_t bytes : sizes) {
        PlanOptions& plan = out.emplace_back(options_.plan);
        plan.bytes = bytes;
        plan.may_shrink = options_.sizes.empty();
        plan.blocks = count;
      }
    return out;
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// `sweep_from`: of the last of a sweep, where its results begin in the record.
  void measure_one(const TestCase& testcase, const PlanOptions& plan_options, std::size_t sweep_from) {
    MatrixResult result = measurer_->plan(testcase, plan_options);
    MeasureOptions how = options_.measure;
    how.fit = options_.sizes.size() < 2;
    result.verify = how.verify && result.size_bytes > 0;
    try {
      measurer_->measure(how, deadline_, result);
    } catch (const BadInput&) {
      throw;
    } catch (...) {
      keep(std::move(result), none);
      throw;
    }
    result.throttled = machine().throttle_reasons();
    keep(std::move(result), options_.sweep ? sweep_from : none);
  }

  void keep(MatrixResult result, std::size_t sweep_from) {
    const std::lock_guard lock(mutex_);
    if (options_.utilisation) result.add_utilisation();
    record_.results.push_back(std::move(result));
    if (sweep_from != none) fit_sweep(std::span(record_.results).subspan(sweep_from));
    if (root_) print_result(std::cout, record_.results.back(), options_.max_display), std::cout << std::flush;
  }

  void end_phase(const std::string& name) {
    double before = 0;
    for (const Phase& phase : record_.phases) before += phase.seconds;
    record_.phases.push_back({name, seconds_since(start_) - before});
  }

  /// What ended cells of a matrix that was finished all the same comes before what is wrong with others.
  Outcome judge() const {
    for (const auto& [status, outcome] : {std::pair{CellStatus::timeout, late}, {CellStatus::error, broken}})
      for (const MatrixResult& result : record_.results)
        if (result.cells(status) > 0) return outcome;
    for (const MatrixResult& result : record_.results)
      if (!result.complete() || !result.verified().value_or(true)) return failed;
    return passed;
  }

  void finish(Outcome outcome, std::optional<std::string> error) {
    record_.result = outcome.result;
    record_.error = std::move(error);
    record_.seconds = seconds_since(start_);
    if (!root_) return;
    if (options_.record) write_record(record_, *options_.record);
    std::cout << '\n';
    print_health(std::cout, record_);
    std::cout << "whole run: " << record_.seconds << " s";
    for (const Phase& phase : record_.phases) std::cout << ", " << phase.name << ' ' << phase.seconds << " s";
    std::cout << "\nResult: " << outcome.result << std::endl;
    if (record_.error) std::cerr << record_.program << ": " << *record_.error << std::endl;
  }

  /// Writes what there is and ends the process: a device in this state may block every further call, destructors too.
  /// Also called on the watchdog's thread.
  [[noreturn]] void end_broken(Outcome outcome, const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (measurer_)
      finish(outcome, what);  // else nothing is known yet, not even what was to be measured
    else
      std::cerr << record_.program << ": " << what << std::endl;
    std::_Exit(static_cast<int>(outcome.code));
  }

  const P2pOptions& options_;
  Clock::time_point start_;
  Deadline deadline_;
  std::mutex mutex_;  ///< guards record_ against the watchdog
  Record record_;
  std::unique_ptr<Measurer> measurer_;
  bool root_ = true;
};

}  // namespace

ExitCode run_p2p(const P2pOptions& options) { return P2pRun(options).run(); }

}  // namespace linkmatrix
