#include "collective/rank_collectives.hpp"

#include <algorithm>
#include <utility>

#include "collective/host/mpi_worker.hpp"
#include "core/sweep.hpp"
#include "core/units.hpp"
#include "ranks/network.hpp"
#include "ranks/packing.hpp"
#include "ranks/payload.hpp"
#ifdef LINKMATRIX_NCCL
#include "collective/nccl/nccl_worker.hpp"
#include "collective/nccl_log.hpp"
#include "ranks/device/device_payload.hpp"
#endif

namespace linkmatrix {
namespace {

using ranks::pack;
using ranks::unpack;

constexpr double least_patience = 60;  // minimum time limit in seconds for the preparation of all ranks

enum class Step : int { connect, prepare, run };

/// Requests of rank 0 to all ranks, including itself, and their replies. Trivially copyable.
struct Question {
  Step step = Step::run;
  CollectiveCase wanted{};
  Burst burst{};
  double seconds = 30;
  std::array<char, 128> id{};  ///< ncclUniqueId of the communicator
};
struct Reply {
  RankTimes times{};
  std::array<char, 64> choice{};
};

/// Creates a rank's worker for Step::connect.
using MakeWorker = std::function<std::unique_ptr<CollectiveWorker>(const Question&)>;

/// Executes the requests of rank 0 on a rank.
class Answering {
 public:
  explicit Answering(MakeWorker make) : make_{std::move(make)} {}

  std::vector<std::byte> answer(std::span<const std::byte> bytes) {
    const Question question = unpack<Question>(bytes);
    const Deadline deadline = Deadline::in(question.seconds);
    Reply reply;
    switch (question.step) {
      case Step::connect:
        worker_ = make_(question);
        break;
      case Step::prepare:
        worker_->prepare(question.wanted, deadline);
        break;
      case Step::run:
        reply.times = worker_->run(question.burst, deadline);
        worker_->choice().copy(reply.choice.data(), reply.choice.size() - 1);
        break;
    }
    return pack(reply);
  }

 private:
  MakeWorker make_;
  std::unique_ptr<CollectiveWorker> worker_;
};

ranks::Answerer answerer(MakeWorker make) {
  auto answering = std::make_shared<Answering>(std::move(make));
  return [answering](std::span<const std::byte> question) { return answering->answer(question); };
}

class RankCollectives final : public Collectives {
 public:
  explicit RankCollectives(const ranks::NetworkOptions& options)
      : network_{ranks::Network::start(options)}, seconds_{options.pair_timeout} {
    if (!network_->is_root()) return;
    Question question{.step = Step::connect, .seconds = std::max(least_patience, seconds_)};
#ifdef LINKMATRIX_NCCL
    if (memory() == Memory::device) question.id = new_nccl_id();
#endif
    const CollectiveAnswer answer = ask(question);
    if (answer.status == CellStatus::ok) return;
    network_->dismiss(ExitCode::device_error);
    throw DeviceError(answer.why);
  }

  Machine& machine() override { return *network_; }
  std::vector<std::string> ranks() const override { return network_->labels(false); }
  Engine engine() const override { return memory() == Memory::device ? Engine::nccl : Engine::mpi; }
  Memory memory() const override { return network_->memory(); }
  std::vector<std::uint64_t> default_sizes() const override {
    return memory() == Memory::device ? sweep_sizes(KiB, GiB, 4) : sweep_sizes(KiB, 16 * MiB, 4);
  }

  std::optional<std::string> refusal(const CollectiveCase& wanted) const override {
#ifdef LINKMATRIX_NCCL
    if (memory() == Memory::device) return nccl_refusal(wanted);
#endif
    return mpi_refusal(wanted);
  }

  CollectiveAnswer prepare(const CollectiveCase& wanted, double seconds) override {
    return ask({.step = Step::prepare, .wanted = wanted, .seconds = seconds});
  }
  CollectiveAnswer run(const Burst& burst, double seconds) override {
    return ask({.step = Step::run, .burst = burst, .seconds = seconds});
  }

  std::optional<CellStatus> lost_status() const override { return lost_as_; }
  std::vector<Lost> take_lost() override { return network_->take_lost(); }

  Software facts() const override {
#ifdef LINKMATRIX_NCCL
    if (memory() == Memory::device) {
      Software facts = facts_of_log(nccl_log());
      facts["NCCL"] = nccl_version();
      return facts;
    }
#endif
    return {};
  }

 private:
  /// Sends a request to all ranks, including this one. If one rank fails, the request fails.
  CollectiveAnswer ask(const Question& question) {
    RankTimes times;
    std::string choice;
    const auto take = [&](std::span<const std::byte> bytes) {
      const Reply reply = unpack<Reply>(bytes);
      times += reply.times;
      if (choice.empty()) choice = reply.choice.data();
    };
    const int count = static_cast<int>(ranks().size());
    if (const auto failure = ask_ranks(network_->correspondence(), count, pack(question), question.seconds, take)) {
      lost_as_ = failure->status;
      return {.status = failure->status, .why = failure->why};
    }
    CollectiveAnswer answer = question.step == Step::run ? answer_of(times, question.burst) : CollectiveAnswer{};
    answer.choice = choice;
    return answer;
  }

  std::unique_ptr<ranks::Network> network_;
  double seconds_;
  /// After a failure, ranks may still be inside a collective, so no further collective can run.
  std::optional<CellStatus> lost_as_;
};

}  // namespace

std::unique_ptr<Collectives> make_rank_collectives(const CollectiveOptions& options) {
  ranks::NetworkOptions network;
  network.memory = options.memory;
  network.pair_timeout = options.measure.cell_timeout;
  network.record = options.record.value_or("collective_perf.json");
  network.set_command(options.command);
  network.make_answerer = [huge = options.huge_pages](ranks::Communicator& mpi) {
    return answerer([&mpi, huge](const Question&) { return make_mpi_worker(mpi, huge); });
  };
#ifdef LINKMATRIX_NCCL
  network.devices = ranks::answering_devices([](ranks::Communicator& mpi, int ordinal, const std::string& label) {
    log_nccl_to_memory();
    const NcclRanks own{{ordinal}, {label}, mpi.rank(), mpi.size()};
    return answerer([own](const Question& question) { return make_nccl_worker(own, question.id); });
  });
#else
  if (options.memory == Memory::device)
    throw BadInput("--memory device: this collective_perf was built without NCCL: configure with -DLINKMATRIX_NCCL=ON");
#endif
  return std::make_unique<RankCollectives>(network);
}

}  // namespace linkmatrix
