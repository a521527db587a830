#include "p2p/backends.hpp"

#include <array>
#include <functional>

#include "core/units.hpp"
#include "device/host/host_backend.hpp"
#ifdef LINKMATRIX_CUDA
#include "device/cuda/cuda_backend.hpp"
#endif
#ifdef LINKMATRIX_MPI
#include "p2p/ranks_measurer.hpp"
#include "ranks/network.hpp"
#endif
#ifdef LINKMATRIX_IPC
#include "device/ipc/ipc_backend.hpp"
#endif

namespace linkmatrix {
namespace {

/// Of a back end: each test case is a plan of copies.
class BackendMeasurer final : public Measurer {
 public:
  BackendMeasurer(std::unique_ptr<Backend> backend, std::uint64_t default_bytes)
      : backend_{std::move(backend)}, default_bytes_{default_bytes} {}

  Machine& machine() override { return *backend_; }
  std::optional<std::string> why_not(const TestCase& t, const PlanOptions& options) const override {
    return linkmatrix::why_not(t, *backend_, options);
  }
  std::uint64_t default_bytes(const TestCase&) const override { return default_bytes_; }
  bool has_own_size(const TestCase& t) const override { return t.metric == Metric::latency; }
  MatrixResult plan(const TestCase& t, const PlanOptions& options) override {
    Plan plan = make_plan(t, *backend_, options);
    work_ = std::move(plan.work);
    return std::move(plan.result);
  }
  void measure(const MeasureOptions& how, Deadline deadline, MatrixResult& result) override {
    if (how.concurrency == Concurrency::bisection)
      throw BadInput("--concurrency bisection is for nodes: start ranks on several with mpirun");
    linkmatrix::measure(*backend_, work_, how, deadline, result);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::uint64_t default_bytes_;
  Work work_;
};

using Factory = std::function<std::unique_ptr<Measurer>(const P2pOptions&)>;

Factory of_backend(std::uint64_t default_bytes, std::function<std::unique_ptr<Backend>(const P2pOptions&)> make) {
  return [=](const P2pOptions& options) {
    auto backend = make(options);
    if (options.fault) backend = with_simulated_fault(std::move(backend), *options.fault);
    return std::make_unique<BackendMeasurer>(std::move(backend), default_bytes);
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
      {"ipc", "-DLINKMATRIX_CUDA=ON -DLINKMATRIX_MPI=ON", {}, {}},
      {"host", "", of_backend(128 * MiB, [](auto& o) { return make_host_backend(o.devices, o.host_memory.huge); }),
       [] { return std::string(); }},
  };
#ifdef LINKMATRIX_MPI
  rows[0].make = make_ranks_measurer;
  rows[0].why_not_here = [] { return std::string(ranks::started_by_mpirun() ? "" : "not started by mpirun"); };
#endif
#ifdef LINKMATRIX_CUDA
  rows[1].make = of_backend(512 * MiB, [](auto& o) { return make_cuda_backend(o.devices, o.host_memory); });
  rows[1].why_not_here = why_no_cuda;
#endif
#ifdef LINKMATRIX_IPC
  rows[2].make = of_backend(512 * MiB, [](auto& o) { return make_ipc_backend(o.devices); });
  rows[2].why_not_here = [] { return std::string("only where it is asked for"); };
#endif
  return rows;
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
      return {row.make(options), ""};
    }
    if (!row.make) continue;
    const std::string reason = row.why_not_here();
    if (reason.empty()) return {row.make(options), note};
    if (row.name == "cuda") note = "no GPU measured (" + reason + "): this is host memory";
  }
  throw BadInput("unknown --backend '" + options.backend.value_or("") + "': use cuda, host, ipc or mpi");
}

}  // namespace linkmatrix
