#include "nbody/rank_system.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "nbody/host/rank_simulation.hpp"
#include "nbody/local_system.hpp"
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

/// Requests of rank 0 to the participating ranks including itself, and their replies: plain data.
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
      find_in(*simulation, question.wanted, question.proof, question.interactions, deadline, reply.found);
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
  NbodyAnswer find(Proof wanted_proof, double interactions, double seconds, Findings& found) override {
    return ask({.order = Order::find,
                .wanted = prepared_,
                .proof = wanted_proof,
                .interactions = interactions,
                .seconds = seconds},
               found);
  }

  std::optional<CellStatus> lost_as(int) const override { return lost_as_; }
  std::vector<Lost> take_lost() override { return network_->take_lost(); }

 private:
  /// Sends a request to all ranks of the case including this one. If a rank fails, the request has failed for all.
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
  /// Ranks that failed or were given up may be anywhere in a step: no other can begin.
  std::optional<CellStatus> lost_as_;
};

}  // namespace

std::unique_ptr<NbodySystem> make_rank_system(const NbodyOptions& options) {
  ranks::NetworkOptions network;
  network.memory = options.memory.value_or(Memory::host);
  network.pair_timeout = options.measure.cell_timeout;
  network.record = options.record.value_or("nbody_scaling.json");
  network.set_command(options.command);
  network.make_answerer = [](ranks::Communicator& mpi) {
    return answerer(std::shared_ptr<Simulation>(make_rank_simulation(mpi)));
  };
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
