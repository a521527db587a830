#include "p2p/backends.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "core/units.hpp"
#include "device/host/caches.hpp"
#include "device/host/host_backend.hpp"
#include "p2p/measure_plan.hpp"
#include "program/launcher.hpp"
#ifdef LINKMATRIX_CUDA
#include "device/cuda/cuda_backend.hpp"
#endif
#ifdef LINKMATRIX_MPI
#include "p2p/ranks_measurer.hpp"
#endif

namespace linkmatrix {
namespace {

constexpr auto to_be_heard = std::chrono::seconds(3);  // of the one that says why all end

/// Of a back end: each test case is a plan of copies.
class BackendMeasurer final : public Measurer {
 public:
  BackendMeasurer(std::unique_ptr<Backend> backend, std::uint64_t default_bytes, std::optional<SimulatedFault> fault)
      : backend_{std::move(backend)}, default_bytes_{default_bytes}, fault_{std::move(fault)} {
    if (fault_) faulty_.emplace(*backend_, *fault_);
  }

  Machine& machine() override { return faulty_ ? static_cast<Machine&>(*faulty_) : *backend_; }
  std::optional<std::string> why_not(const TestCase& t, const PlanOptions& options) const override {
    return linkmatrix::why_not(t, *backend_, options);
  }
  std::uint64_t default_bytes(const TestCase&) const override { return default_bytes_; }
  bool has_own_size(const TestCase& t) const override { return t.metric == Metric::latency; }
  MatrixResult plan(const TestCase& t, const PlanOptions& options) override {
    plan_ = make_plan(t, *backend_, options);
    return plan_.result;
  }
  bool has(const SimulatedFault& fault, Concurrency) override { return has_fault(*backend_, plan_, fault); }
  void measure(const MeasureOptions& how, Deadline deadline, Guarded<Record>& record) override {
    if (how.concurrency == Concurrency::bisection || how.concurrency == Concurrency::matchings)
      throw BadInput("--concurrency " + std::string(word(how.concurrency)) +
                     " is for nodes: start ranks on several with mpirun");
    measure_plan(*backend_, plan_, how, deadline, record, fault_);
  }
  std::vector<Heated> heat(double seconds, std::optional<int> flips, Deadline deadline) override {
    return backend_->heat(seconds, flips, deadline);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::uint64_t default_bytes_;
  std::optional<SimulatedFault> fault_;
  std::optional<FaultyMachine> faulty_;
  Plan plan_;
};

using Factory = std::function<std::unique_ptr<Measurer>(const P2pOptions&)>;

Factory of_backend(std::uint64_t (*default_bytes)(), std::function<std::unique_ptr<Backend>(const P2pOptions&)> make) {
  return [=](const P2pOptions& options) {
    return std::make_unique<BackendMeasurer>(make(options), default_bytes(), options.fault);
  };
}

struct BackendRow {
  std::string_view name;
  std::string_view build_option;  ///< what builds it in
  Factory make;                   ///< empty: not built in
  /// Why it does not fit this machine when nobody asked for it; empty text: it does.
  std::function<std::string()> why_not_here;
};

/// In the order of preference.
std::vector<BackendRow> backend_table() {
  std::vector<BackendRow> rows{
      {"mpi", "-DLINKMATRIX_MPI=ON", {}, {}},
      {"cuda", "-DLINKMATRIX_CUDA=ON", {}, {}},
      {"host", "",
       of_backend([] { return own_working_set().copy; },
                  [](auto& o) { return make_host_backend(o.devices, o.host_memory.huge); }),
       [] { return std::string(); }},
  };
#ifdef LINKMATRIX_MPI
  rows[0].make = make_ranks_measurer;
  rows[0].why_not_here = [] { return std::string(started_by_mpirun() ? "" : "not started by mpirun"); };
#endif
#ifdef LINKMATRIX_CUDA
  rows[1].make =
      of_backend([] { return 512 * MiB; }, [](auto& o) { return make_cuda_backend(o.devices, o.host_memory); });
  rows[1].why_not_here = [] {
    // Host memory measured in the place of GPUs would pass, and nobody would notice.
    if (const std::string hidden = why_hidden(); !hidden.empty()) throw BadInput(hidden);
    return why_no_cuda();
  };
#endif
  return rows;
}

/// Each process that mpirun started would measure the same and write the same record. The first one says so, the others
/// end in silence, and later: the first end of one is that of all.
void refuse_copies(const BackendRow& row) {
  if (row.name == "mpi" || !started_by_mpirun()) return;
  if (launched_rank() != 0) {
    (void)!std::freopen("/dev/null", "w", stderr);  // that it is ended is no news
    std::this_thread::sleep_for(to_be_heard);
    std::_Exit(static_cast<int>(ExitCode::bad_input));
  }
  throw BadInput("mpirun started several processes, and with the back end " + std::string(row.name) +
                 " each would measure the same: start one without mpirun, or use --backend mpi" +
                 (backend_table().front().make ? "" : ", built with -DLINKMATRIX_MPI=ON"));
}

}  // namespace

ChosenMeasurer choose_measurer(const P2pOptions& options) {
  std::string note;
  for (const BackendRow& row : backend_table()) {
    if (options.backend) {
      if (*options.backend != row.name) continue;
      if (!row.make)
        throw BadInput("--backend " + *options.backend + ": this p2p_matrix was built without it: configure with " +
                       std::string(row.build_option));
      refuse_copies(row);
      return {row.make(options), ""};
    }
    if (!row.make) continue;
    const std::string reason = row.why_not_here();
    if (reason.empty()) {
      refuse_copies(row);
      return {row.make(options), note};
    }
    if (row.name == "cuda") note = "no GPU measured (" + reason + "): this is host memory";
  }
  if (options.backend == "ipc")
    throw BadInput("--backend ipc is gone: one process a GPU is mpirun -n N p2p_matrix --memory device");
  throw BadInput("unknown --backend '" + options.backend.value_or("") + "': use cuda, host or mpi");
}

}  // namespace linkmatrix
