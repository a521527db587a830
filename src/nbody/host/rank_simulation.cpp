#include "nbody/host/rank_simulation.hpp"

#include "nbody/host/forces.hpp"
#include "nbody/positions_gather.hpp"

namespace linkmatrix {
namespace {

template <class T>
class RankSimulation final : public Simulation {
 public:
  explicit RankSimulation(PositionsGather& ranks) : ranks_{ranks} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override {
    refuse_too_many_bodies(wanted, 1);
    split_ = Split(wanted.bodies, wanted.devices);
    ranks_.prepare(wanted.devices);
    restart(deadline);
  }
  void restart(Deadline) override {
    odd_ = false;
    part_.begin(split_, ranks_.rank());
  }
  double run(int steps, const Step& step, Deadline deadline) override {
    ranks_.meet(deadline);
    const auto began = Clock::now();
    for (int s = 0; s < steps; ++s) {
      advance(part_, split_, ranks_.rank(), 0, split_.count(ranks_.rank()), odd_, step, deadline);
      odd_ = !odd_;
      ranks_.gather(part_.positions[odd_].get(), split_.stride() * sizeof(Vector4<T>), deadline);
    }
    return seconds_since(began);
  }

  std::vector<int> parts() const override { return {ranks_.rank()}; }
  std::vector<Vector4<double>> positions(int) override {
    return as_double(part_.positions[odd_].get(), split_.places());
  }
  std::vector<Vector4<double>> velocities(int part) override {
    return as_double(part_.velocities.get(), split_.count(part));
  }

 private:
  PositionsGather& ranks_;
  Split split_;
  HostPart<T> part_;
  bool odd_ = false;
};

/// Exchange that gathers positions while this rank computes.
class OfRank final : public Simulation {
 public:
  explicit OfRank(ranks::Communicator& mpi)
      : ranks_{mpi}, simulation_{[this](Precision precision) -> std::unique_ptr<Simulation> {
          if (precision == Precision::f32) return std::make_unique<RankSimulation<float>>(ranks_);
          return std::make_unique<RankSimulation<double>>(ranks_);
        }} {}

  void prepare(const NbodyCase& wanted, Deadline deadline) override { simulation_.prepare(wanted, deadline); }
  void restart(Deadline deadline) override { simulation_.restart(deadline); }
  double run(int steps, const Step& step, Deadline deadline) override { return simulation_.run(steps, step, deadline); }
  std::vector<int> parts() const override { return simulation_.parts(); }
  std::vector<Vector4<double>> positions(int part) override { return simulation_.positions(part); }
  std::vector<Vector4<double>> velocities(int part) override { return simulation_.velocities(part); }

 private:
  PositionsGather ranks_;
  EitherPrecision simulation_;
};

}  // namespace

std::unique_ptr<Simulation> make_rank_simulation(ranks::Communicator& mpi) { return std::make_unique<OfRank>(mpi); }

}  // namespace linkmatrix
