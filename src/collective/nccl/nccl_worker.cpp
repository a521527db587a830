#include "collective/nccl/nccl_worker.hpp"

#include <nccl.h>

#include <algorithm>
#include <utility>

#include "collective/expected.hpp"
#include "collective/nccl/communicators.hpp"
#include "collective/nccl/elements.hpp"
#include "collective/nccl/graphs.hpp"
#include "collective/nccl/launch.hpp"
#include "collective/nccl/local_rank.hpp"
#include "collective/nccl/nccl_calls.hpp"
#include "collective/nccl_log.hpp"
#include "core/limited_call.hpp"
#include "core/units.hpp"
#include "device/cuda/gate.hpp"

namespace linkmatrix {
namespace {

using cuda::check;
using nccl::LocalRank;

/// Of what is prepared. What CUDA and NCCL do when something runs for the first time waits for the device, behind a
/// closed gate for ever; and so does NCCL where it has no room to queue more (its work FIFO, of 1 MiB).
enum class GateUse { not_yet, always, never };

class NcclWorker final : public CollectiveWorker {
 public:
  NcclWorker(const NcclRanks& ranks, const NcclId& id)
      : all_{ranks.ranks}, communicators_{ranks, id}, gate_{ranks.labels.front()} {
    for (std::size_t i = 0; i < ranks.ordinals.size(); ++i) {
      LocalRank& rank = ranks_.emplace_back();
      rank.number = ranks.first + static_cast<int>(i);
      rank.ordinal = ranks.ordinals[i];
      rank.label = ranks.labels[i];
      rank.use();
      rank.stream = cuda::make_stream(rank.label);
      for (int moment = 0; moment <= Burst::most_samples; ++moment)
        rank.moments.push_back(cuda::make_event(rank.label));
      rank.wrong = cuda::make_device_memory(sizeof(unsigned long long), rank.label);
    }
  }

  void prepare(const CollectiveCase& wanted, Deadline deadline) override {
    const LimitedCall limited = limit(deadline);
    wanted_ = wanted;
    layout_ = layout_of(wanted, all_);
    const std::uint64_t bytes = layout_.elements() * bytes_of(wanted.type);
    for (LocalRank& rank : ranks_) {
      rank.graph = {};
      reserve(rank, rank.receive, rank.receive_bytes, bytes);
      if (!wanted.in_place) reserve(rank, rank.send, rank.send_bytes, bytes);
    }
    now_ = &communicators_.of(wanted);
    gate_use_ = GateUse::not_yet;
    fill();
    wait(deadline);
  }

  RankTimes run(const Burst& burst, Deadline deadline) override {
    const LimitedCall limited = limit(deadline);
    return wanted_.launch == Launch::blocking ? run_blocking(burst, deadline) : run_queued(burst, deadline);
  }

  std::uint64_t verify(Deadline deadline) override {
    const LimitedCall limited = limit(deadline);
    spoil();
    fill();
    once();
    compare();
    wait(deadline);
    std::uint64_t wrong = 0;
    for (const LocalRank& rank : ranks_) {
      unsigned long long found = 0;
      check(cudaMemcpy(&found, rank.wrong.get(), sizeof(found), cudaMemcpyDeviceToHost), rank.label, "cudaMemcpy");
      wrong += found;
    }
    return wrong;
  }

  std::string choice() const override {
    const auto is_here = [this](const LocalRank& rank) { return takes_part(wanted_, rank.number); };
    if (is_made_of_sends(wanted_.what) || std::ranges::none_of(ranks_, is_here))
      return "";  // its log is of another one
    return last_choice(nccl_log(last_lines));
  }

 private:
  /// wait() keeps to a deadline; what NCCL does in a call of its own, such as to connect ranks or to find room for one
  /// more launch, keeps to none.
  static LimitedCall limit(Deadline deadline) {
    return {std::max(deadline.seconds_left(), 0.0) + grace_of_calls, "NCCL"};
  }

  /// Timed by events in each device's stream, behind a gate that opens when the host has launched all: its launches, 25
  /// to 45 µs for 4 devices of a process, are not the devices' time. One collective before the first event has all
  /// ranks begin together and awake.
  RankTimes run_queued(const Burst& burst, Deadline deadline) {
    const bool as_graph = wanted_.launch == Launch::graph;
    if (as_graph) record(burst.repeats);
    {
      gate_.close();
      const cuda::Gate::Opener opener(gate_);
      if (gate_use_ == GateUse::always) hold();
      once();
      mark(0);
      for (int sample = 1; sample <= burst.samples; ++sample) {
        as_graph ? nccl::launch_graphs(ranks_) : repeat(burst.repeats);
        mark(sample);
      }
    }
    wait(deadline);
    if (gate_use_ == GateUse::not_yet) refuse_other_choice();
    if (gate_use_ != GateUse::never) gate_use_ = gate_.timed_out() ? GateUse::never : GateUse::always;
    RankTimes times;
    for (const LocalRank& rank : ranks_)
      if (takes_part(wanted_, rank.number)) times.add(moments_of(rank, burst.samples));
    return times;
  }

  /// Seconds from the beginning of a burst on.
  static std::vector<double> moments_of(const LocalRank& rank, int samples) {
    std::vector<double> moments{0};
    for (int sample = 1; sample <= samples; ++sample) {
      float milliseconds = 0;
      const cudaEvent_t end = rank.moments[static_cast<std::size_t>(sample)].get();
      check(cudaEventElapsedTime(&milliseconds, rank.moments.front().get(), end), rank.label, "cudaEventElapsedTime");
      moments.push_back(static_cast<double>(milliseconds) * 1e-3);
    }
    return moments;
  }

  /// By the host's clock, as nccl-tests' -z 2. One collective before it has all ranks begin together and awake.
  RankTimes run_blocking(const Burst& burst, Deadline deadline) {
    once();
    wait(deadline);
    const auto began = Clock::now();
    std::vector<double> moments{0};
    for (int sample = 0; sample < burst.samples; ++sample) {
      for (int i = 0; i < burst.repeats; ++i) {
        once();
        wait(deadline);
      }
      moments.push_back(seconds_since(began));
    }
    refuse_other_choice();
    RankTimes times;
    for (const LocalRank& rank : ranks_)
      if (takes_part(wanted_, rank.number)) times.add(moments);
    return times;
  }

  static void reserve(const LocalRank& rank, cuda::DeviceMemory& memory, std::uint64_t& has, std::uint64_t bytes) {
    if (has >= bytes) return;
    rank.use();
    memory = {};
    has = 0;
    try {
      memory = cuda::make_device_memory(bytes, rank.label);
    } catch (const cuda::CudaError& e) {
      if (e.status() != cudaErrorMemoryAllocation) throw;
      throw BadInput("--size: " + rank.label + " has not the memory for buffers of " + format_size(bytes) +
                     ": name a smaller size, or end what else has its memory");
    }
    has = bytes;
  }

  std::byte* sending(const LocalRank& rank) const {
    if (!wanted_.in_place) return rank.send.get();
    return rank.receive.get() + (layout_.received > layout_.sent ? part_offset(rank) : 0);
  }
  std::byte* receiving(const LocalRank& rank) const {
    const bool into_part = wanted_.in_place && layout_.sent > layout_.received;
    return rank.receive.get() + (into_part ? part_offset(rank) : 0);
  }
  std::uint64_t part_offset(const LocalRank& rank) const {
    return place_of_part(layout_, rank.number) * bytes_of(wanted_.type);
  }

  /// Of all ranks of this process, one collective.
  void once() {
    nccl::check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if ((*now_)[i] != nullptr)
        nccl::begin(wanted_, layout_, {ranks_[i].number, all_, sending(ranks_[i]), receiving(ranks_[i])}, (*now_)[i],
                    ranks_[i].stream.get());
    nccl::check(ncclGroupEnd(), word(wanted_.what).data());
  }

  void repeat(int repeats) {
    for (int i = 0; i < repeats; ++i) once();
  }

  void record(int repeats) {
    if (graph_repeats_ == repeats && ranks_.front().graph) return;
    nccl::record_graphs(ranks_, [&] { repeat(repeats); });
    graph_repeats_ = repeats;
  }

  void hold() {
    for (const LocalRank& rank : ranks_) {
      rank.use();
      gate_.hold(rank.stream.get());
    }
  }

  void mark(int moment) const {
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaEventRecord(rank.moments[static_cast<std::size_t>(moment)].get(), rank.stream.get()), rank.label,
            "cudaEventRecord");
    }
  }

  void spoil() {
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaMemsetAsync(rank.receive.get(), spoiled_byte, layout_.elements() * bytes_of(wanted_.type),
                            rank.stream.get()),
            rank.label, "cudaMemsetAsync");
    }
  }

  void fill() {
    const Expectation expected = expectation_of(wanted_, layout_, members(wanted_, all_));
    for (const LocalRank& rank : ranks_) {
      rank.use();
      cuda::launch_fill(sending(rank), sent_elements(wanted_, layout_, rank.number), wanted_, expected,
                        member_number(wanted_, rank.number), rank.stream.get());
    }
  }

  void compare() {
    const int count = members(wanted_, all_);
    const Expectation expected = expectation_of(wanted_, layout_, count);
    for (const LocalRank& rank : ranks_) {
      rank.use();
      auto* const wrong = reinterpret_cast<unsigned long long*>(rank.wrong.get());
      check(cudaMemsetAsync(wrong, 0, sizeof(*wrong), rank.stream.get()), rank.label, "cudaMemsetAsync");
      cuda::launch_check(receiving(rank), received_elements(wanted_, layout_, rank.number), wanted_, expected,
                         member_number(wanted_, rank.number), tolerance_of(wanted_, count), wrong, rank.stream.get());
    }
  }

  /// Looks at streams and at NCCL in turn; a hang is the deadline's.
  void wait(Deadline deadline) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].use();
      for (std::uint64_t looks = 0;; ++looks) {
        const cudaError_t status = cudaStreamQuery(ranks_[i].stream.get());
        if (status == cudaSuccess) break;
        if (status != cudaErrorNotReady) check(status, ranks_[i].label, "the collective");
        if (looks % looks_between != 0) continue;
        if ((*now_)[i] != nullptr) nccl::check_state((*now_)[i]);
        if (deadline.passed()) throw TimedOut(ranks_[i].label + ": the collective did not end in time");
      }
    }
  }

  /// What was forced and is not what ran would be measured under a wrong name.
  void refuse_other_choice() const {
    const std::string ran = choice();
    if (ran.empty() || is_forced_choice(ran, wanted_)) return;
    std::string forced = wanted_.algorithm.data();
    if (wanted_.protocol[0] != 0) forced += (forced.empty() ? "" : ", ") + std::string(wanted_.protocol.data());
    if (wanted_.channels > 0) forced += (forced.empty() ? "" : ", ") + std::to_string(wanted_.channels) + " channels";
    throw DeviceError("NCCL ran " + ran + " where " + forced + " was forced");
  }

  static constexpr double grace_of_calls = 5;  ///< seconds that a call of NCCL may outlast its deadline
  static constexpr int looks_between = 4096;
  static constexpr std::size_t last_lines = 4096;  ///< bytes of the log that have the last collective's choice

  int all_;
  std::vector<LocalRank> ranks_;
  nccl::Communicators communicators_;
  const std::vector<ncclComm_t>* now_ = nullptr;  ///< of what was prepared
  cuda::Gate gate_;
  GateUse gate_use_ = GateUse::not_yet;
  CollectiveCase wanted_;
  Layout layout_;
  int graph_repeats_ = 0;
};

}  // namespace

std::unique_ptr<CollectiveWorker> make_nccl_worker(NcclRanks ranks, const NcclId& id) {
  return std::make_unique<NcclWorker>(ranks, id);
}

}  // namespace linkmatrix
