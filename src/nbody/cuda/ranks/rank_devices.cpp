#include "nbody/cuda/ranks/rank_devices.hpp"

#include <array>
#include <utility>

#include "device/cuda/discovery.hpp"
#include "nbody/cuda/ranks/rank_exchange.hpp"
#include "ranks/device/device_payload.hpp"
#include "ranks/device/nvml_watch.hpp"

namespace linkmatrix {
namespace {

/// The device of this rank, and the exchange that gathers the positions of all ranks.
class RankDeviceSimulation final : public Simulation {
 public:
  RankDeviceSimulation(ranks::Communicator& mpi, int ordinal, const std::string& label)
      : ranks_{mpi}, simulation_{make_device_simulation({{ordinal}, {label}, mpi.rank()}, rank_exchanges(ranks_))} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override { simulation_->prepare(wanted, deadline); }
  void restart(Deadline deadline) override { simulation_->restart(deadline); }
  double run(int steps, const Step& step, Deadline deadline) override {
    ranks_.meet(deadline);
    return simulation_->run(steps, step, deadline);
  }
  std::vector<int> parts() const override { return simulation_->parts(); }
  std::vector<Vector4<double>> positions(int part) override { return simulation_->positions(part); }
  std::vector<Vector4<double>> velocities(int part) override { return simulation_->velocities(part); }

 private:
  PositionsGather ranks_;
  std::unique_ptr<Simulation> simulation_;
};

}  // namespace

ranks::DeviceSupport nbody_rank_support(std::function<ranks::Answerer(std::unique_ptr<Simulation>)> answerer) {
  ranks::DeviceSupport support;
  support.make_payload = [answerer](ranks::Communicator& mpi, int number, ranks::RankFacts& facts) {
    const int ordinal = ranks::ordinal_of(number);
    const Endpoint device = cuda::describe_devices(std::array{ordinal}).front();
    ranks::put_device(facts, number, device);
    const std::string label = "gpu" + std::to_string(number);
    return std::make_unique<ranks::HostPayload>(mpi, false,
                                                answerer(std::make_unique<RankDeviceSimulation>(mpi, ordinal, label)),
                                                std::make_unique<ranks::NvmlWatch>(device));
  };
  support.discover = ranks::device_support().discover;
  return support;
}

}  // namespace linkmatrix
