#include "nbody/library.hpp"

#include "core/error.hpp"
#include "device/host/host_backend.hpp"
#include "device/host/stations.hpp"
#include "nbody/host/host_simulation.hpp"
#include "nbody/local_system.hpp"
#include "program/launcher.hpp"
#ifdef LINKMATRIX_MPI
#include "nbody/rank_system.hpp"
#endif
#ifdef LINKMATRIX_CUDA
#include "device/cuda/cuda_backend.hpp"
#include "nbody/cuda/device_simulation.hpp"
#endif

namespace linkmatrix {
namespace {

using On = NbodyOptions::On;

/// Its cores, and what computes on them.
class OnCores final : public Simulation {
 public:
  explicit OnCores(const std::vector<int>& devices)
      : stations_{make_host_stations(devices, numa_nodes())}, simulation_{make_host_simulation(stations_)} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override { simulation_->prepare(wanted, deadline); }
  void restart(Deadline deadline) override { simulation_->restart(deadline); }
  double run(int steps, const Step& step, Deadline deadline) override {
    return simulation_->run(steps, step, deadline);
  }
  std::vector<int> parts() const override { return simulation_->parts(); }
  std::vector<Vector4<double>> positions(int part) override { return simulation_->positions(part); }
  std::vector<Vector4<double>> velocities(int part) override { return simulation_->velocities(part); }

 private:
  std::vector<HostStation> stations_;
  std::unique_ptr<Simulation> simulation_;
};

std::unique_ptr<NbodySystem> make_host_system(const NbodyOptions& options) {
  return make_local_system({.machine = make_host_backend(options.devices),
                            .simulation = std::make_unique<OnCores>(options.devices),
                            .memory = Memory::host,
                            .timing = "clock",
                            .default_bodies = {2048, 8192, 32768},
                            .transport = [] { return "direct"; }});
}

/// Whether GPUs are to compute. Throws BadInput where they were asked for and there are none.
bool on_gpus([[maybe_unused]] const NbodyOptions& options) {
  if (options.on == On::host) return false;
#ifdef LINKMATRIX_CUDA
  const std::string why = why_no_cuda();
  if (why.empty()) return true;
  if (options.on == On::cuda) throw BadInput("--backend cuda: " + why + ": --backend host computes on cores");
  if (const std::string hidden = why_hidden(); !hidden.empty()) throw BadInput(hidden);
  return false;
#else
  if (options.on == On::cuda)
    throw BadInput("--backend cuda: this nbody_scaling was built without CUDA: configure with -DLINKMATRIX_CUDA=ON");
  return false;
#endif
}

}  // namespace

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

}  // namespace linkmatrix
