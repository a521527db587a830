#include "p2p/measurer.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "core/units.hpp"
#include "device/host/caches.hpp"
#include "device/host/host_backend.hpp"
#include "p2p/measure_plan.hpp"
#include "program/program_main.hpp"
#ifdef LINKMATRIX_CUDA
#include "device/cuda/cuda_backend.hpp"
#endif
#ifdef LINKMATRIX_MPI
#include "p2p/ranks_measurer.hpp"
#endif

namespace linkmatrix {
namespace {

constexpr auto message_time = std::chrono::seconds(3);  // for the first process to print its message

/// Measures with a back end in this process.
class BackendMeasurer final : public Measurer {
 public:
  BackendMeasurer(std::unique_ptr<Backend> backend, std::uint64_t default_bytes, std::optional<SimulatedFault> fault)
      : backend_{std::move(backend)}, default_bytes_{default_bytes}, fault_{std::move(fault)} {}

  Machine& machine() override { return *backend_; }
  std::optional<std::string> why_not(const TestCase& t, const PlanOptions& options) const override {
    return linkmatrix::why_not(t, *backend_, options);
  }
  std::uint64_t default_bytes(const TestCase&) const override { return default_bytes_; }
  bool has_fixed_size(const TestCase& t) const override { return t.metric == Metric::latency; }
  MatrixResult plan(const TestCase& t, const PlanOptions& options) override {
    plan_ = make_plan(t, *backend_, options);
    return plan_.result;
  }
  bool is_affected_by(const SimulatedFault& fault, Concurrency) override { return has_fault(*backend_, plan_, fault); }
  void measure(const MeasureOptions& how, Deadline deadline, Guarded<Record>& record) override {
    if (how.concurrency == Concurrency::bisection || how.concurrency == Concurrency::matchings)
      throw BadInput("--concurrency " + std::string(word(how.concurrency)) +
                     " needs several nodes: start ranks on several nodes with mpirun");
    measure_plan(*backend_, plan_, how, deadline, record, fault_);
  }
  std::vector<Heated> heat(double seconds, std::optional<int> flips, Deadline deadline) override {
    return backend_->heat(seconds, flips, deadline);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::uint64_t default_bytes_;
  std::optional<SimulatedFault> fault_;
  Plan plan_;
};

/// Returns the back end for this machine. If it is not cuda, sets `note` to the reason, because a run of host memory
/// instead of GPUs would otherwise go unnoticed.
std::string fitting_backend([[maybe_unused]] std::string& note) {
#ifdef LINKMATRIX_MPI
  if (started_by_mpirun()) return "mpi";
#endif
#ifdef LINKMATRIX_CUDA
  if (const std::string hidden = why_hidden(); !hidden.empty()) throw BadInput(hidden);
  const std::string why = why_no_cuda();
  if (why.empty()) return "cuda";
  note = "no GPU was measured (" + why + "): the results are for host memory";
#endif
  return "host";
}

/// Throws BadInput if a launcher started several processes, because each would write the same record. The first process
/// prints the message. The others wait and end silently, because the first end terminates all.
void refuse_copies(const std::string& backend) {
  if (backend == "mpi" || !started_by_mpirun()) return;
  if (launched_rank() != 0) {
    (void)!std::freopen("/dev/null", "w", stderr);  // no second message
    std::this_thread::sleep_for(message_time);
    std::_Exit(static_cast<int>(ExitCode::bad_input));
  }
#ifdef LINKMATRIX_MPI
  constexpr const char* built = "";
#else
  constexpr const char* built = ", built with -DLINKMATRIX_MPI=ON";
#endif
  throw BadInput("mpirun started several processes, and each would measure the same with back end " + backend +
                 ": start one process without mpirun, or use --backend mpi" + built);
}

/// Throws BadInput if this build does not have the back end.
std::unique_ptr<Measurer> make_measurer(const std::string& backend, const P2pOptions& options) {
  if (backend == "host")
    return std::make_unique<BackendMeasurer>(make_host_backend(options.devices, options.host_memory.huge),
                                             own_working_set().copy, options.fault);
#ifdef LINKMATRIX_CUDA
  if (backend == "cuda")
    return std::make_unique<BackendMeasurer>(make_cuda_backend(options.devices, options.host_memory), 512 * MiB,
                                             options.fault);
#endif
#ifdef LINKMATRIX_MPI
  if (backend == "mpi") return make_ranks_measurer(options);
#endif
  if (backend == "cuda" || backend == "mpi")
    throw BadInput("--backend " + backend + " is not in this p2p_matrix: configure with -DLINKMATRIX_" +
                   (backend == "cuda" ? "CUDA" : "MPI") + "=ON");
  throw BadInput("unknown --backend '" + backend + "': use cuda, host or mpi");
}

}  // namespace

ChosenMeasurer choose_measurer(const P2pOptions& options) {
  std::string note;
  const std::string backend = options.backend ? *options.backend : fitting_backend(note);
  refuse_copies(backend);
  return {make_measurer(backend, options), note};
}

}  // namespace linkmatrix
