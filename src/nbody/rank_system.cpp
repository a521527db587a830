#include "nbody/rank_system.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "nbody/host/forces.hpp"
#include "nbody/local_system.hpp"
#include "nbody/positions_gather.hpp"
#include "ranks/network.hpp"
#include "ranks/packing.hpp"
#include "ranks/payload.hpp"

#ifdef LINKMATRIX_CUDA
#include "nbody/cuda/ranks/rank_devices.hpp"
#endif

namespace linkmatrix {
namespace {

using ranks::pack;
using ranks::unpack;

enum class Order : int { prepare, run, find };

/// Requests of rank 0 to the participating ranks, including itself, and their replies. Trivially copyable.
struct Question {
  Order order = Order::run;
  NbodyCase wanted{};
  int steps = 1;
  Proof proof = Proof::steps;
  double interactions = 0, seconds = 30;
};
struct Reply {
  double seconds = 0;
  Findings found{};
};

ranks::Answerer answerer(std::shared_ptr<Simulation> simulation) {
  return [simulation = std::move(simulation)](std::span<const std::byte> bytes) {
    const Question question = unpack<Question>(bytes);
    const Deadline deadline = Deadline::in(question.seconds);
    Reply reply;
    if (question.order == Order::prepare) simulation->prepare(question.wanted, deadline);
    if (question.order == Order::run) reply.seconds = simulation->run(question.steps, {}, deadline);
    if (question.order == Order::find)
      verify_parts(*simulation, question.wanted, question.proof, question.interactions, deadline, reply.found);
    return pack(reply);
  };
}

class RankSystem final : public NbodySystem {
 public:
  explicit RankSystem(const ranks::NetworkOptions& options) : network_{ranks::Network::start(options)} {}

  Machine& machine() override { return *network_; }
  std::vector<std::string> devices() const override { return network_->labels(false); }
  Memory memory() const override { return network_->memory(); }
  std::string transport() const override { return "mpi"; }
  std::string timing() const override { return memory() == Memory::device ? "events" : "messages"; }

  NbodyAnswer prepare(const NbodyCase& wanted, double seconds) override {
    prepared_ = wanted;
    Findings none;
    return ask({.order = Order::prepare, .wanted = wanted, .seconds = seconds}, none);
  }
  NbodyAnswer run(int steps, double seconds) override {
    Findings none;
    return ask({.order = Order::run, .wanted = prepared_, .steps = steps, .seconds = seconds}, none);
  }
  NbodyAnswer verify_once(Proof wanted_proof, double interactions, double seconds, Findings& found) override {
    return ask({.order = Order::find,
                .wanted = prepared_,
                .proof = wanted_proof,
                .interactions = interactions,
                .seconds = seconds},
               found);
  }

  std::optional<CellStatus> lost_status(int) const override { return lost_as_; }
  std::vector<Lost> take_lost() override { return network_->take_lost(); }

 private:
  /// Sends a request to all ranks of the case, including this one. If one rank fails, the request fails.
  NbodyAnswer ask(const Question& question, Findings& found) {
    NbodyAnswer all;
    const auto take = [&](std::span<const std::byte> bytes) {
      const Reply reply = unpack<Reply>(bytes);
      all.seconds = std::max(all.seconds, reply.seconds);
      found.add(reply.found);
    };
    const auto failure =
        ask_ranks(network_->correspondence(), prepared_.devices, pack(question), question.seconds, take);
    if (!failure) return all;
    lost_as_ = failure->status;
    return {failure->status, failure->why, 0};
  }

  std::unique_ptr<ranks::Network> network_;
  NbodyCase prepared_;
  /// After a failure, ranks may still be inside a step, so no further step can run.
  std::optional<CellStatus> lost_as_;
};

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

/// Creates this rank's part of a simulation on the rank's core. MPI gathers the positions.
std::shared_ptr<Simulation> make_rank_simulation(ranks::Communicator& mpi) {
  const auto gather = std::make_shared<PositionsGather>(mpi);
  return std::make_shared<EitherPrecision>([gather](Precision precision) -> std::unique_ptr<Simulation> {
    if (precision == Precision::f32) return std::make_unique<RankSimulation<float>>(*gather);
    return std::make_unique<RankSimulation<double>>(*gather);
  });
}

}  // namespace

std::unique_ptr<NbodySystem> make_rank_system(const NbodyOptions& options) {
  ranks::NetworkOptions network;
  network.memory = options.memory.value_or(Memory::host);
  network.pair_timeout = options.measure.cell_timeout;
  network.record = options.record.value_or("nbody_scaling.json");
  network.set_command(options.command);
  network.make_answerer = [](ranks::Communicator& mpi) { return answerer(make_rank_simulation(mpi)); };
#ifdef LINKMATRIX_CUDA
  network.devices = nbody_rank_support([](std::unique_ptr<Simulation> simulation) {
    return answerer(std::shared_ptr<Simulation>(std::move(simulation)));
  });
#else
  if (network.memory == Memory::device)
    throw BadInput("--memory device: this nbody_scaling was built without CUDA: configure with -DLINKMATRIX_CUDA=ON");
#endif
  return std::make_unique<RankSystem>(network);
}

}  // namespace linkmatrix
