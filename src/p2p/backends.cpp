#include "p2p/backends.hpp"

#include <array>
#include <functional>

#include "core/units.hpp"
#include "device/host/host_backend.hpp"
#ifdef LINKMATRIX_CUDA
#include "device/cuda/cuda_backend.hpp"
#endif
#ifdef LINKMATRIX_MPI
#include "device/mpi/mpi_backend.hpp"
#endif
#ifdef LINKMATRIX_IPC
#include "device/ipc/ipc_backend.hpp"
#endif

namespace linkmatrix {
namespace {

using Factory = std::function<std::unique_ptr<Backend>(const P2pOptions&)>;

struct BackendRow {
  std::string_view name;
  std::uint64_t default_bytes;
  std::string_view build_option;  ///< what builds it in
  Factory make;                   ///< empty: not built in
  /// Why it does not fit this machine when nobody asked for it; empty text: it does.
  std::function<std::string()> why_not_here;
};

/// In the order of preference.
std::vector<BackendRow> backend_table() {
  std::vector<BackendRow> rows{
      {"mpi", 64 * MiB, "-DLINKMATRIX_MPI=ON", {}, {}},
      {"cuda", 512 * MiB, "-DLINKMATRIX_CUDA=ON", {}, {}},
      {"ipc", 512 * MiB, "-DLINKMATRIX_CUDA=ON -DLINKMATRIX_MPI=ON", {}, {}},
      {"host", 128 * MiB, "", [](const P2pOptions& o) { return make_host_backend(o.devices, o.host_memory.huge); },
       [] { return std::string(); }},
  };
#ifdef LINKMATRIX_MPI
  rows[0].make = [](const P2pOptions& o) {
    if (!o.devices.empty()) throw BadInput("--devices does not choose ranks: start fewer with mpirun -n");
    return make_mpi_backend();
  };
  rows[0].why_not_here = [] { return std::string(started_by_mpirun() ? "" : "not started by mpirun"); };
#endif
#ifdef LINKMATRIX_CUDA
  rows[1].make = [](const P2pOptions& o) { return make_cuda_backend(o.devices, o.host_memory); };
  rows[1].why_not_here = why_no_cuda;
#endif
#ifdef LINKMATRIX_IPC
  rows[2].make = [](const P2pOptions& o) { return make_ipc_backend(o.devices); };
  rows[2].why_not_here = [] { return std::string("only where it is asked for"); };
#endif
  return rows;
}

ChosenBackend choose(const P2pOptions& options) {
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

}  // namespace

ChosenBackend choose_backend(const P2pOptions& options) {
  ChosenBackend chosen = choose(options);
  if (options.fault) chosen.backend = with_simulated_fault(std::move(chosen.backend), *options.fault);
  return chosen;
}

std::uint64_t default_bytes(const Backend& backend) {
  for (const BackendRow& row : backend_table())
    if (row.name == backend.name()) return row.default_bytes;
  return 64 * MiB;
}

}  // namespace linkmatrix
