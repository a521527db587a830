#include "nbody/run.hpp"

#include <algorithm>
#include <sstream>

#include "measure/store.hpp"
#include "nbody/library.hpp"
#include "nbody/plan.hpp"
#include "program/launcher.hpp"

namespace linkmatrix {
namespace {

/// A number of bodies that nobody asked for is left out where a step of it would take so many times --max-time.
constexpr double most_max_times = 3;

std::string formatted_seconds(double seconds) {
  std::ostringstream out;
  out << seconds << " s";
  return out.str();
}

class NbodyRun final : public ProgramRun {
 public:
  NbodyRun(const NbodyOptions& options, Supervisor& supervisor)
      : ProgramRun("nbody_scaling", options, supervisor), options_{options} {}

 private:
  /// What cannot be measured is refused before anything is printed.
  Started start() override {
    refuse_unused(options_, started_by_mpirun());
    system_ = choose_nbody_system(options_);
    if (system_->machine().is_root()) plan();
    std::vector<std::string> notes;
    if (!options_.fault) return {system_->machine(), system_->nodes(), std::move(notes)};
    notes.push_back("simulated fault: " + options_.fault->text());
    return {faulty_.emplace(system_->machine(), *options_.fault), system_->nodes(), std::move(notes)};
  }

  std::vector<NodeFacts> nodes() override { return system_->nodes(); }
  void serve() override { system_->serve(); }
  std::optional<std::string> disorder() override { return system_->disorder(); }
  void dismiss(ExitCode code) override {
    if (system_) system_->dismiss(code);
  }

  void act() override {
    look_first();
    record().change([&](Record& record) {
      for (const auto& plans : series_) record.expected.push_back(plans.front().series.name());
    });
    for (const auto& plans : series_) measure_series(plans);
    end_phase("measure");
  }

  void plan() {
    numbers_ = counts();
    for (const NbodySeries& one : options_.series()) {
      std::vector<NbodyPlan>& plans = series_.emplace_back();
      for (const std::uint64_t bodies : bodies_wanted()) plans.push_back({one, bodies});
      for (const NbodyPlan& plan : plans) refuse_too_few_bodies(plan, numbers_);
    }
    if (options_.fault) check_fault(*options_.fault, system_->machine().endpoints());
    refuse_idle_fault();
  }

  std::vector<int> counts() const {
    const int devices = static_cast<int>(system_->devices().size());
    if (options_.counts.empty()) return usual_counts(devices);
    if (const int most = options_.counts.back(); most > devices)
      throw BadInput("--counts " + std::to_string(most) + ": there " +
                     (devices == 1 ? "is 1 device" : "are " + std::to_string(devices) + " devices") +
                     ": name fewer, or give the run more");
    return options_.counts;
  }

  /// What nobody asked for fits the devices: each has a tile at least.
  std::vector<std::uint64_t> bodies_wanted() const {
    if (!options_.bodies.empty()) return options_.bodies;
    std::vector<std::uint64_t> bodies = system_->default_bodies();
    const std::uint64_t least = bodies_of_tile * static_cast<std::uint64_t>(numbers_.back());
    std::erase_if(bodies, [least](std::uint64_t one) { return one < least; });
    if (bodies.empty()) bodies.push_back(least);
    return bodies;
  }

  void refuse_idle_fault() const {
    if (!options_.fault) return;
    const NbodyPlan any{};
    const NbodySampler::Cases cases = cases_of(any, numbers_);
    const NbodySampler sampler(*system_, cases, 0);
    const bool has = std::ranges::any_of(cases, [&](const auto& one) {
      return std::ranges::any_of(sampler.paths(one.first), [&](const Path& path) { return options_.fault->has(path); });
    });
    if (!has)
      throw BadInput("--simulate-fault " + options_.fault->text() +
                     ": nothing that is measured has it: name a device that takes part");
  }

  void measure_series(const std::vector<NbodyPlan>& plans) {
    const std::size_t first = results();
    for (const NbodyPlan& plan : plans) {
      const NbodySampler::Cases cases = cases_of(plan, numbers_);
      if (options_.bodies.empty() && results() > first && takes_too_long(plan, cases)) continue;
      measure_one(plan, cases);
    }
    const auto measured = record().look([first](const Record& record) {
      return std::vector<MatrixResult>(record.results.begin() + static_cast<std::ptrdiff_t>(first),
                                       record.results.end());
    });
    supervisor().print(scaling_table(measured));
  }

  /// By the rate of the last number of bodies on the fewest devices, which more do not lose.
  bool takes_too_long(const NbodyPlan& plan, const NbodySampler::Cases& cases) {
    const auto rate = record().look([](const Record& record) { return record.results.back().values(0, 0); });
    const double most = most_max_times * options_.measure.max_seconds;
    const int fewest = cases.begin()->second.devices;
    const bool fits = std::ranges::all_of(cases, [&](const auto& one) {
      const double devices = static_cast<double>(one.second.devices) / fewest;
      return !rate || flop_of_step(one.second) * 1e-9 / (*rate * devices) <= most;
    });
    if (fits) return false;
    const std::string note = plan.series.name() + ": " + std::to_string(plan.bodies) +
                             " bodies were left out, for a step would take more than " + formatted_seconds(most) +
                             ": --bodies measures them all the same";
    record().change([&](Record& record) { record.notes.push_back(note); });
    supervisor().print("\nnote: " + note + "\n");
    return true;
  }

  void measure_one(const NbodyPlan& plan, const NbodySampler::Cases& cases) {
    std::vector<Round> each;
    for (const auto& [place, wanted] : cases) each.push_back({place});
    MatrixResult result = result_of(plan, cases, *system_);
    result.verify = options_.measure.verify;
    record().change([&](Record& record) { record.results.push_back(std::move(result)); });
    write_record();
    NbodySampler sampler(*system_, cases, options_.steps);
    std::optional<FaultySampler> faulty;
    if (options_.fault) faulty.emplace(sampler, *options_.fault);
    MeasureOptions how = options_.measure;
    how.concurrency = Concurrency::serial;
    how.fit = false;
    const ListedRounds rounds(each);
    ResultStore store(record());
    try {
      measure(faulty ? static_cast<Sampler&>(*faulty) : sampler, {.rounds = rounds}, how, deadline(), store);
    } catch (const BadInput&) {  // it is not measured at all
      record().change([](Record& record) { record.results.pop_back(); });
      throw;
    }
    finish_last([&](Record& record) { add_figures(cases, record.results.back()); });
  }

  const NbodyOptions& options_;
  std::unique_ptr<NbodySystem> system_;
  std::optional<FaultyMachine> faulty_;
  std::vector<int> numbers_;                    ///< of devices
  std::vector<std::vector<NbodyPlan>> series_;  ///< bodies rising
};

}  // namespace

ExitCode run_nbody(const NbodyOptions& options, Supervisor& supervisor) { return NbodyRun(options, supervisor).run(); }

}  // namespace linkmatrix
