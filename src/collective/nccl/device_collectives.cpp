#include "collective/nccl/device_collectives.hpp"

#include <functional>
#include <utility>

#include "collective/nccl/nccl_worker.hpp"
#include "collective/nccl_log.hpp"
#include "core/sweep.hpp"
#include "core/units.hpp"
#include "device/cuda/cuda_backend.hpp"

namespace linkmatrix {
namespace {

class DeviceCollectives final : public Collectives {
 public:
  explicit DeviceCollectives(const CollectiveOptions& options) : machine_{make_cuda_backend(options.devices)} {
    log_nccl_to_memory();
    NcclRanks own;
    for (std::size_t i = 0; i < machine_->endpoints().size(); ++i) {
      const Endpoint& endpoint = machine_->endpoints()[i];
      if (endpoint.kind != EndpointKind::device) continue;
      // A collective needs all devices.
      refuse_lost(*machine_, static_cast<int>(i));
      own.ordinals.push_back(endpoint.index);
      own.labels.push_back(endpoint.label);
    }
    labels_ = own.labels;
    own.ranks = static_cast<int>(labels_.size());
    if (own.ranks < 2)
      throw BadInput(
          "a collective needs 2 devices, and only 1 is available; to measure host memory: mpirun -n 4 collective_perf");
    worker_ = make_nccl_worker(std::move(own), new_nccl_id());
  }

  Machine& machine() override { return *machine_; }
  std::vector<std::string> ranks() const override { return labels_; }
  Engine engine() const override { return Engine::nccl; }
  Memory memory() const override { return Memory::device; }
  std::vector<std::uint64_t> default_sizes() const override { return sweep_sizes(KiB, GiB, 4); }
  std::optional<std::string> refusal(const CollectiveCase& wanted) const override { return nccl_refusal(wanted); }

  CollectiveAnswer prepare(const CollectiveCase& wanted, double seconds) override {
    return guarded([&](CollectiveAnswer&) { worker_->prepare(wanted, Deadline::in(seconds)); });
  }
  CollectiveAnswer run(const Burst& burst, double seconds) override {
    return guarded([&](CollectiveAnswer& answer) {
      answer = answer_of(worker_->run(burst, Deadline::in(seconds)), burst);
      answer.choice = worker_->choice();
    });
  }

  std::optional<CellStatus> lost_status() const override { return lost_as_; }
  std::vector<Lost> take_lost() override { return std::exchange(lost_, {}); }
  Software facts() const override {
    Software facts = facts_of_log(nccl_log());
    facts["NCCL"] = nccl_version();
    return facts;
  }

 private:
  /// After a failed collective, no further collective can run between the same ranks.
  CollectiveAnswer guarded(const std::function<void(CollectiveAnswer&)>& work) {
    CollectiveAnswer answer;
    try {
      work(answer);
    } catch (const TimedOut& e) {
      answer = {.status = CellStatus::timeout, .why = e.what()};
    } catch (const NotAvailable& e) {
      return {.status = CellStatus::error, .why = e.what()};
    } catch (const DeviceError& e) {
      answer = {.status = CellStatus::error, .why = e.what()};
    }
    if (answer.status == CellStatus::ok || lost_as_) return answer;
    lost_as_ = answer.status;
    for (const std::string& label : labels_) lost_.push_back({label, answer.why});
    return answer;
  }

  std::unique_ptr<Backend> machine_;
  std::vector<std::string> labels_;
  std::unique_ptr<CollectiveWorker> worker_;
  std::vector<Lost> lost_;
  std::optional<CellStatus> lost_as_;
};

}  // namespace

std::unique_ptr<Collectives> make_device_collectives(const CollectiveOptions& options) {
  return std::make_unique<DeviceCollectives>(options);
}

}  // namespace linkmatrix
