#include "nbody/run.hpp"

#include <algorithm>
#include <ranges>
#include <sstream>

#include "core/error.hpp"
#include "device/host/endpoint_state.hpp"
#include "device/host/host_backend.hpp"
#include "nbody/host/host_simulation.hpp"
#include "nbody/local_system.hpp"
#include "nbody/plan.hpp"
#include "program/program_main.hpp"
#ifdef LINKMATRIX_MPI
#include "nbody/rank_system.hpp"
#endif
#ifdef LINKMATRIX_CUDA
#include "device/cuda/cuda_backend.hpp"
#include "nbody/cuda/device_simulation.hpp"
#endif

namespace linkmatrix {
namespace {

std::string formatted_seconds(double seconds) {
  std::ostringstream out;
  out << seconds << " s";
  return out.str();
}

using On = NbodyOptions::On;

std::unique_ptr<NbodySystem> make_host_system(const NbodyOptions& options) {
  return make_local_system(
      {.machine = make_host_backend(options.devices),
       .simulation = make_host_simulation(make_host_endpoint_states(options.devices, numa_nodes())),
       .memory = Memory::host,
       .timing = "clock",
       .transport = [] { return "direct"; }});
}

/// Returns whether GPUs compute. Throws BadInput if GPUs were requested and there are none.
bool on_gpus([[maybe_unused]] const NbodyOptions& options) {
  if (options.on == On::host) return false;
#ifdef LINKMATRIX_CUDA
  const std::string why = why_no_cuda();
  if (why.empty()) return true;
  if (options.on == On::cuda) throw BadInput("--backend cuda: " + why + ": use --backend host to compute on cores");
  if (const std::string hidden = why_hidden(); !hidden.empty()) throw BadInput(hidden);
  return false;
#else
  if (options.on == On::cuda)
    throw BadInput("--backend cuda: this nbody_scaling was built without CUDA: configure with -DLINKMATRIX_CUDA=ON");
  return false;
#endif
}

/// Returns the computing system: the ranks of a launcher, the GPUs of this process, or its cores. Throws BadInput if
/// this build or this machine does not have the requested one.
std::unique_ptr<NbodySystem> choose_nbody_system(const NbodyOptions& options) {
  if (started_by_mpirun()) {
#ifdef LINKMATRIX_MPI
    return make_rank_system(options);
#else
    throw BadInput("this nbody_scaling was built without MPI: configure with -DLINKMATRIX_MPI=ON");
#endif
  }
#ifdef LINKMATRIX_CUDA
  if (on_gpus(options)) return make_device_system(options);
#else
  on_gpus(options);
#endif
  return make_host_system(options);
}

class NbodyRun final : public ProgramRun {
 public:
  NbodyRun(const NbodyOptions& options, Supervisor& supervisor)
      : ProgramRun("nbody_scaling", options, supervisor), options_{options} {}

 private:
  /// Throws BadInput for impossible cases, before anything is printed.
  void start() override {
    refuse_unused(options_, started_by_mpirun());
    system_ = choose_nbody_system(options_);
    use(system_->machine());
    if (machine().is_root()) plan();
  }

  void act() override {
    poll_first();
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
    refuse_idle_fault();
  }

  std::vector<int> counts() const {
    const int devices = static_cast<int>(system_->devices().size());
    if (options_.counts.empty()) return usual_counts(devices);
    if (const int most = options_.counts.back(); most > devices)
      throw BadInput("--counts " + std::to_string(most) + ": there " +
                     (devices == 1 ? "is 1 device" : "are " + std::to_string(devices) + " devices") +
                     ": use smaller numbers, or start the run with more devices");
    return options_.counts;
  }

  /// Returns the default numbers of bodies with at least one tile per device.
  std::vector<std::uint64_t> bodies_wanted() const {
    if (!options_.bodies.empty()) return options_.bodies;
    std::vector<std::uint64_t> bodies = default_bodies(system_->memory());
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
      return std::ranges::any_of(sampler.paths(one.first),
                                 [&](const Path& path) { return options_.fault->affects(path); });
    });
    if (!has)
      throw BadInput("--simulate-fault " + options_.fault->text() +
                     ": no measured device can have this fault: name a device of the run");
  }

  void measure_series(const std::vector<NbodyPlan>& plans) {
    const std::size_t first = results();
    for (const NbodyPlan& plan : plans) {
      const NbodySampler::Cases cases = cases_of(plan, numbers_);
      if (options_.bodies.empty() && results() > first && takes_too_long(plan, cases)) continue;
      measure_one(plan, cases);
    }
    const auto measured = record().read([first](const Record& record) {
      return std::vector<MatrixResult>(record.results.begin() + static_cast<std::ptrdiff_t>(first),
                                       record.results.end());
    });
    supervisor().print(scaling_table(measured));
  }

  /// Estimates the seconds of a step from the rate of the last number of bodies on the fewest devices.
  bool takes_too_long(const NbodyPlan& plan, const NbodySampler::Cases& cases) {
    const auto rate = record().read([](const Record& record) { return record.results.back().values(0, 0); });
    const double most = options_.measure.max_seconds;
    const int fewest = cases.begin()->second.devices;
    const bool fits = std::ranges::all_of(cases, [&](const auto& one) {
      const double devices = static_cast<double>(one.second.devices) / fewest;
      return !rate || flop_of_step(one.second) * 1e-9 / (*rate * devices) <= most;
    });
    if (fits) return false;
    const std::string note = plan.series.name() + ": " + std::to_string(plan.bodies) +
                             " bodies were skipped, because a step would take more than " + formatted_seconds(most) +
                             ": use --bodies to measure them anyway";
    record().change([&](Record& record) { record.notes.push_back(note); });
    supervisor().print("\nnote: " + note + "\n");
    return true;
  }

  void measure_one(const NbodyPlan& plan, const NbodySampler::Cases& cases) {
    MatrixResult result = result_of(plan, cases, *system_);
    result.verify = options_.measure.verify;
    NbodySampler sampler(*system_, cases, options_.steps);
    measure_one_by_one(std::views::keys(cases), std::move(result), sampler, options_.measure);
    finish_last([&](Record& record) { add_figures(cases, record.results.back()); });
  }

  const NbodyOptions& options_;
  std::unique_ptr<NbodySystem> system_;
  std::vector<int> numbers_;                    ///< measured numbers of devices
  std::vector<std::vector<NbodyPlan>> series_;  ///< by series: plans with ascending numbers of bodies
};

}  // namespace

ExitCode run_nbody(const NbodyOptions& options, Supervisor& supervisor) { return NbodyRun(options, supervisor).run(); }

}  // namespace linkmatrix
