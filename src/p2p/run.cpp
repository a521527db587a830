#include "p2p/run.hpp"

#include <algorithm>
#include <span>
#include <sstream>

#include "core/sweep.hpp"
#include "p2p/measurer.hpp"
#include "p2p/plan.hpp"
#include "p2p/soak.hpp"
#include "p2p/testcases.hpp"
#include "program/program_run.hpp"

namespace linkmatrix {
namespace {

class P2pRun final : public ProgramRun {
 public:
  P2pRun(const P2pOptions& options, Supervisor& supervisor)
      : ProgramRun("p2p_matrix", options, supervisor), options_{options} {}

 private:
  void start() override {
    ChosenMeasurer chosen = choose_measurer(options_);
    measurer_ = std::move(chosen.measurer);
    if (!chosen.note.empty()) record().change([&](Record& record) { record.notes.push_back(chosen.note); });
    use(measurer_->machine());
  }

  void act() override { options_.topology ? show_topology() : measure_all(); }
  bool counts_own_bytes() const override { return true; }

  /// Returns the test cases. All named test cases must be able to run. Of a suite or axes, selects those that can run.
  std::vector<TestCase> testcases() {
    for (const TestCase& t : options_.named)
      if (const auto why = measurer_->why_not(t, options_.plan))
        throw BadInput("--testcase " + std::string(t.name) + " cannot run here: " + *why);
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
    if (possible.empty()) throw BadInput("none of the selected test cases can run here: " + reason);
    return options_.budget ? sorted_by_information(possible) : possible;
  }

  void show_topology() {
    refuse_unused(options_, {machine().name()});
    poll_first();
    write_record();
  }

  void measure_all() {
    const auto all = testcases();
    refuse_unused(options_, {machine().name(), all});
    if (!options_.references.empty())
      references_ = std::make_shared<const References>(References::read(options_.references));
    refuse_idle_fault(all);
    poll_first();
    record().change([&](Record& record) {
      for (const TestCase& testcase : all) record.expected.emplace_back(testcase.name);
    });
    Budget budget{options_.budget};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double began = supervisor().seconds();
      if (!budget.has_room(began)) {
        leave_out(std::span(all).subspan(i));
        break;
      }
      measure_all_of(all[i]);
      budget.record_duration(supervisor().seconds() - began);
    }
    end_phase("measure");
    if (options_.soak > 0) soak_all();
  }

  void soak_all() {
    SoakOptions how{.seconds = options_.soak, .measure = options_.measure, .poll = [this] { remember_contexts(); }};
    how.measure.stop.min_samples = how.measure.stop.max_samples = samples_of_a_pass;
    how.measure.short_samples = 0;
    soak(*measurer_, machine(), soaked_, how, options_.fault, deadline(), record());
    std::optional<Activity> others = poll_again();
    if (others) add_memory_disturbances(*others);
    record().change([&](Record& record) { record.soak->others = others; });
    supervisor().print(record().read([](const Record& record) { return soak_text(*record.soak); }));
    end_phase("soak");
  }

  void measure_all_of(const TestCase& testcase) {
    const std::size_t first = results();
    const auto plans = variations(testcase);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      measure_one(testcase, plans[i]);
      finish(options_.sweep && i + 1 == plans.size() ? first : none);
    }
  }

  /// Records test cases that --budget excludes. They do not count as missing.
  void leave_out(std::span<const TestCase> rest) {
    std::vector<std::string> names;
    for (const TestCase& testcase : rest) names.emplace_back(testcase.name);
    record().change([&](Record& record) {
      record.excluded_testcases = names;
      std::erase_if(record.expected, [&](const auto& name) { return std::ranges::find(names, name) != names.end(); });
    });
    supervisor().print("not measured, because --budget is used up: " + join(names) + "\n");
  }

  /// Throws BadInput if no measured transfer can have the simulated fault, because the run would pass.
  void refuse_idle_fault(const std::vector<TestCase>& all) {
    if (!options_.fault) return;
    for (const TestCase& testcase : all)
      for (const PlanOptions& plan : variations(testcase)) {
        measurer_->plan(testcase, plan);
        if (measurer_->is_affected_by(*options_.fault, options_.measure.concurrency)) return;
      }
    throw BadInput("--simulate-fault does nothing in this run: no measured transfer can have the fault '" +
                   options_.fault->text() + "': name another endpoint, or choose test cases that use this endpoint");
  }

  /// Returns the options for every combination of size and number of blocks.
  std::vector<PlanOptions> variations(const TestCase& testcase) const {
    std::vector<std::uint64_t> sizes{measurer_->default_bytes(testcase)};
    std::vector<int> blocks{0};
    if (!options_.sizes.empty()) sizes = options_.sizes;
    if (measurer_->has_fixed_size(testcase))
      sizes.resize(1);
    else if (testcase.engine != Engine::mpi && std::find(sizes.begin(), sizes.end(), 0) != sizes.end())
      throw BadInput("--size 0 is possible only for latencies between ranks: start ranks with mpirun");
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

  static constexpr int samples_of_a_pass = 3;  // per cell; a soak has many passes
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  /// Adds the result to the record before its first cell is measured.
  void measure_one(const TestCase& testcase, const PlanOptions& plan_options) {
    MatrixResult result = measurer_->plan(testcase, plan_options);
    MeasureOptions how = options_.measure;
    how.references = references_;
    how.in_cpu_memory = machine().name() == "host" || (machine().name() == "mpi" && result.memory == Memory::host);
    result.verify = how.verify && result.size_bytes > 0;
    record().change([&](Record& record) { record.results.push_back(std::move(result)); });
    write_record();
    try {
      measurer_->measure(how, deadline(), record());
      if (options_.soak > 0)
        soaked_.push_back({testcase, plan_options, record().read([](const Record& r) { return r.results.back(); })});
    } catch (const BadInput&) {  // nothing was measured
      record().change([](Record& record) { record.results.pop_back(); });
      throw;
    }
  }

  /// sweep_from: for the last size of a sweep, index of the sweep's first result in the record.
  void finish(std::size_t sweep_from) {
    finish_last([&](Record& record) {
      if (options_.utilisation) record.results.back().add_utilisation();
      if (sweep_from != none) fit_sweep(std::span(record.results).subspan(sweep_from));
    });
  }

  const P2pOptions& options_;
  std::unique_ptr<Measurer> measurer_;
  std::shared_ptr<const References> references_;
  std::vector<SoakTestCase> soaked_;
};

}  // namespace

ExitCode run_p2p(const P2pOptions& options, Supervisor& supervisor) { return P2pRun(options, supervisor).run(); }

}  // namespace linkmatrix
