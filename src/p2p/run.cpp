#include "p2p/run.hpp"

#include <cstdlib>
#include <iostream>
#include <mutex>

#include "core/record.hpp"
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
      if (options_.action != P2pOptions::Action::topology) measure_all();
    } catch (const BadInput& e) {
      if (record_.results.empty()) throw;
      end_broken(refused, e.what());
    } catch (const DeviceError& e) {
      end_broken(broken, e.what());
    } catch (const TimedOut& e) {
      end_broken(late, e.what());
    }
    const std::lock_guard lock(mutex_);
    const Outcome outcome = judge();
    finish(outcome, std::nullopt);
    return outcome.code;
  }

 private:
  void start_up() {
    ChosenBackend chosen = choose_backend(options_);
    const std::lock_guard lock(mutex_);
    backend_ = std::move(chosen.backend);
    root_ = backend_->is_root();
    record_.backend = backend_->name();
    for (const Endpoint& endpoint : backend_->endpoints())
      if (endpoint.kind == EndpointKind::device) record_.devices.push_back(endpoint);
    record_.topology = backend_->topology();
    record_.software = backend_->software();
    if (!chosen.note.empty()) record_.notes.push_back(chosen.note);
    if (options_.fault) record_.notes.push_back("simulated fault: " + options_.fault->text());
    end_phase("start-up");
    if (root_) print_head(std::cout, record_, options_.max_display);
  }

  /// Named test cases must run; of a suite or of axes, those that can.
  std::vector<TestCase> testcases() {
    if (!options_.named.empty()) return options_.named;
    const auto wanted =
        options_.axes.any() ? matching_testcases(options_.axes) : suite(options_.suite.value_or("quick"));
    std::vector<TestCase> possible;
    std::string reason;
    for (const TestCase& t : wanted) {
      if (const auto why = why_not(t, *backend_, options_.kernel))
        reason = *why;
      else
        possible.push_back(t);
    }
    if (possible.empty()) throw BadInput("none of the asked test cases can run here: " + reason);
    return possible;
  }

  void measure_all() {
    for (const TestCase& testcase : testcases()) {
      Plan plan = make_plan(testcase, *backend_, options_.kernel, options_.bytes.value_or(default_bytes(*backend_)));
      plan.result.verify = options_.measure.verify;
      try {
        measure(*backend_, plan.cells, options_.measure, deadline_, plan.result);
      } catch (...) {
        keep(std::move(plan.result));
        throw;
      }
      keep(std::move(plan.result));
    }
    end_phase("measure");
  }

  void keep(MatrixResult result) {
    const std::lock_guard lock(mutex_);
    if (root_) print_result(std::cout, result, options_.max_display), std::cout << std::flush;
    record_.results.push_back(std::move(result));
  }

  void end_phase(const std::string& name) {
    double before = 0;
    for (const Phase& phase : record_.phases) before += phase.seconds;
    record_.phases.push_back({name, seconds_since(start_) - before});
  }

  Outcome judge() const {
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
    std::cout << "\nwhole run: " << record_.seconds << " s";
    for (const Phase& phase : record_.phases) std::cout << ", " << phase.name << ' ' << phase.seconds << " s";
    std::cout << "\nResult: " << outcome.result << std::endl;
    if (record_.error) std::cerr << record_.program << ": " << *record_.error << std::endl;
  }

  /// Writes what there is and ends the process: a device in this state may block every further call, destructors too.
  /// Also called on the watchdog's thread.
  [[noreturn]] void end_broken(Outcome outcome, const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (backend_)
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
  std::unique_ptr<Backend> backend_;
  bool root_ = true;
};

}  // namespace

ExitCode run_p2p(const P2pOptions& options) { return P2pRun(options).run(); }

}  // namespace linkmatrix
