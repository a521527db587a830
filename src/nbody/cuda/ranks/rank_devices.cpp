#include "nbody/cuda/ranks/rank_devices.hpp"

#include <utility>

#include "nbody/cuda/device_simulation.hpp"
#include "nbody/positions_gather.hpp"
#include "ranks/device/device_payload.hpp"

namespace linkmatrix {
namespace {

using cuda::check;

template <class T>
class RankExchange final : public cuda::PositionExchange<T> {
 public:
  using Part = cuda::DevicePart<T>;

  explicit RankExchange(PositionsGather& ranks) : ranks_{ranks} {}

  void prepare(std::vector<Part>& parts, const Split& split) override {
    split_ = split;
    ranks_.prepare(split.parts());
    const Part& part = parts.front();
    part.use();
    here_ = cuda::make_pinned_memory(split.places() * sizeof(Vector4<T>), part.label);
    arrived_ = cuda::make_mark(part.label);
    is_under_way_ = false;
  }

  void send(Part& part, int buffer) override {
    part.use();
    const std::uint64_t place = split_.place_of(part.number);
    check(cudaStreamWaitEvent(part.copies.get(), part.moved_to(buffer), 0), part.label, "cudaStreamWaitEvent");
    copy(part, here() + place, part.places(buffer) + place, split_.stride(), cudaMemcpyDeviceToHost);
    check(cudaEventRecord(part.sent_from(buffer), part.copies.get()), part.label, "cudaEventRecord");
    is_under_way_ = true;
  }

  void await(Part& part, int buffer, cudaStream_t stream, Deadline deadline) override {
    if (std::exchange(is_under_way_, false)) {
      cuda::await_event(part.sent_from(buffer), part.label, deadline);
      ranks_.gather(here_.get(), split_.stride() * sizeof(Vector4<T>), deadline);
      const std::uint64_t own = split_.place_of(part.number), after = own + split_.stride();
      copy(part, part.places(buffer), here(), own, cudaMemcpyHostToDevice);
      copy(part, part.places(buffer) + after, here() + after, split_.places() - after, cudaMemcpyHostToDevice);
      check(cudaEventRecord(arrived_.get(), part.copies.get()), part.label, "cudaEventRecord");
    }
    check(cudaStreamWaitEvent(stream, arrived_.get(), 0), part.label, "cudaStreamWaitEvent");
  }

 private:
  Vector4<T>* here() const { return reinterpret_cast<Vector4<T>*>(here_.get()); }

  static void copy(const Part& part, void* to, const void* from, std::uint64_t bodies, cudaMemcpyKind kind) {
    if (bodies == 0) return;
    check(cudaMemcpyAsync(to, from, bodies * sizeof(Vector4<T>), kind, part.copies.get()), part.label,
          "cudaMemcpyAsync");
  }

  PositionsGather& ranks_;
  Split split_;
  cuda::PinnedMemory here_;  ///< all positions, for MPI
  cuda::Event arrived_;
  bool is_under_way_ = false;  ///< whether positions were copied here and are not gathered yet
};

/// Exchanges positions between ranks with one GPU each, through pinned host memory, because few builds of MPI accept
/// device addresses.
Exchanges rank_exchanges(PositionsGather& ranks) {
  return {[&ranks] { return std::make_unique<RankExchange<float>>(ranks); },
          [&ranks] { return std::make_unique<RankExchange<double>>(ranks); }};
}

/// The simulation on the device of this rank.
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
  return ranks::answering_devices([answerer](ranks::Communicator& mpi, int ordinal, const std::string& label) {
    return answerer(std::make_unique<RankDeviceSimulation>(mpi, ordinal, label));
  });
}

}  // namespace linkmatrix
