#include "collective/nccl/nccl_worker.hpp"

#include <nccl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "collective/expected.hpp"
#include "collective/nccl/communicators.hpp"
#include "collective/nccl/elements.hpp"
#include "collective/nccl/graphs.hpp"
#include "collective/nccl/nccl_calls.hpp"
#include "collective/nccl_log.hpp"
#include "core/limited_call.hpp"
#include "core/units.hpp"
#include "device/cuda/launch_gate.hpp"

namespace linkmatrix {
namespace {

using cuda::check;
using nccl::LocalRank;
using WrongCounts = std::array<unsigned long long, Burst::most_samples>;  ///< wrong elements by sample

/// Returns whether the prepared collective can be enqueued behind a closed gate. Its first use waits for the device and
/// would block there. NCCL also blocks when its work FIFO of 1 MiB is full.
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
      rank.wrong = cuda::make_device_memory(sizeof(WrongCounts), rank.label);
    }
  }

  void prepare(const CollectiveCase& wanted, Deadline deadline) override {
    const LimitedCall limited = limit(deadline);
    wanted_ = wanted;
    layout_ = layout_of(wanted, all_);
    for (LocalRank& rank : ranks_) {
      rank.graphs.clear();
      reserve(rank, rank.receive, rank.receive_bytes, window_bytes() * static_cast<std::uint64_t>(1 + wanted.windows));
      if (!wanted.in_place) reserve(rank, rank.send, rank.send_bytes, window_bytes());
      if (wanted.windows > 0) reserve(rank, rank.expected, rank.expected_bytes, window_bytes());
    }
    now_ = &communicators_.get(wanted);
    gate_use_ = GateUse::not_yet;
    for (const LocalRank& rank : ranks_) {
      fill(rank, 0, {});
      if (wanted.windows > 0) expect(rank);
    }
    wait(deadline);
  }

  RankTimes run(const Burst& burst, Deadline deadline) override {
    const LimitedCall limited = limit(deadline);
    const double laying = lay(burst, deadline);
    RankTimes times = wanted_.launch == Launch::blocking ? run_blocking(burst, deadline) : run_queued(burst, deadline);
    times.comparing = laying + compare(burst, times, deadline);
    return times;
  }

  std::string choice() const override {
    const auto is_here = [this](const LocalRank& rank) { return takes_part(wanted_, rank.number); };
    if (is_made_of_sends(wanted_.collective) || std::ranges::none_of(ranks_, is_here))
      return "";  // the log is about another collective
    return last_choice(nccl_log(last_lines));
  }

 private:
  /// Limits a call of NCCL, which has no deadline for its own work, such as connecting ranks. wait() has a deadline.
  static LimitedCall limit(Deadline deadline) {
    return {std::max(deadline.seconds_left(), 0.0) + grace_of_calls, "NCCL"};
  }

  /// Times a burst by events in each device's stream. A gate opens when the host has launched all collectives, so that
  /// launches (25 to 45 µs for 4 devices of a process) do not count. An untimed collective before the first event
  /// synchronizes the ranks.
  RankTimes run_queued(const Burst& burst, Deadline deadline) {
    const bool as_graph = wanted_.launch == Launch::graph;
    if (as_graph) record(burst);
    {
      gate_.close();
      const cuda::LaunchGate::Opener opener(gate_);
      if (gate_use_ == GateUse::always) hold();
      once(0);
      mark(0);
      for (int sample = 0; sample < burst.samples; ++sample) {
        as_graph ? nccl::launch_graphs(ranks_, burst.compares ? static_cast<std::size_t>(sample) : 0)
                 : repeat(burst, sample);
        mark(sample + 1);
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

  /// Returns the seconds from the start of a burst to each event.
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

  /// Times a burst by the host's clock, as `-z 2` of nccl-tests. An untimed collective before it synchronizes the
  /// ranks.
  RankTimes run_blocking(const Burst& burst, Deadline deadline) {
    once(0);
    wait(deadline);
    const auto began = Clock::now();
    std::vector<double> moments{0};
    for (int sample = 0; sample < burst.samples; ++sample) {
      for (int i = 0; i < burst.repeats; ++i) {
        once(burst.window(sample, i));
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
      throw BadInput("--size: " + rank.label + " has too little free memory for buffers of " + format_size(bytes) +
                     ": use a smaller --size, or end other processes on the device");
    }
    has = bytes;
  }

  /// Returns the bytes from one receive buffer to the next, so that all have the same alignment.
  std::uint64_t window_bytes() const {
    return (layout_.elements() * bytes_of(wanted_.type) + window_alignment - 1) / window_alignment * window_alignment;
  }
  std::byte* window(const LocalRank& rank, int number) const {
    return rank.receive.get() + static_cast<std::uint64_t>(number) * window_bytes();
  }
  std::byte* sending(const LocalRank& rank, int number) const {
    if (!wanted_.in_place) return rank.send.get();
    return window(rank, number) + (layout_.received > layout_.sent ? part_offset(rank) : 0);
  }
  std::byte* receiving(const LocalRank& rank, int number) const {
    const bool into_part = wanted_.in_place && layout_.sent > layout_.received;
    return window(rank, number) + (into_part ? part_offset(rank) : 0);
  }
  std::uint64_t part_offset(const LocalRank& rank) const {
    return place_of_part(layout_, rank.number) * bytes_of(wanted_.type);
  }

  /// Enqueues one collective of all ranks of this process into a window.
  void once(int number) {
    nccl::check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if ((*now_)[i] != nullptr)
        nccl::begin(wanted_, layout_,
                    {ranks_[i].number, all_, sending(ranks_[i], number), receiving(ranks_[i], number)}, (*now_)[i],
                    ranks_[i].stream.get());
    nccl::check(ncclGroupEnd(), word(wanted_.collective).data());
  }

  void repeat(const Burst& burst, int sample) {
    for (int i = 0; i < burst.repeats; ++i) once(burst.window(sample, i));
  }

  /// Records one graph per sample with its own window, else one graph for all samples.
  void record(const Burst& burst) {
    const int count = burst.compares ? burst.samples : 1;
    if (recorded_ == std::pair{burst.repeats, count} && !ranks_.front().graphs.empty()) return;
    for (LocalRank& rank : ranks_) rank.graphs.clear();
    for (int sample = 0; sample < count; ++sample) nccl::record_graphs(ranks_, [&] { repeat(burst, sample); });
    recorded_ = {burst.repeats, count};
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

  /// Prepares a compared burst: poisons the windows, and fills the sent data of in-place collectives. Returns the
  /// seconds.
  double lay(const Burst& burst, Deadline deadline) {
    if (!burst.compares) return 0;
    const auto began = Clock::now();
    for (const LocalRank& rank : ranks_)
      for (int sample = 0; sample < burst.samples; ++sample) {
        poison(rank, sample + 1, burst.blocks);
        if (wanted_.in_place) fill(rank, sample + 1, burst.blocks);
      }
    wait(deadline);
    return seconds_since(began);
  }

  /// Compares the windows on all devices concurrently after a burst. Returns the seconds.
  double compare(const Burst& burst, RankTimes& times, Deadline deadline) {
    if (!burst.compares) return 0;
    const auto began = Clock::now();
    for (const LocalRank& rank : ranks_) {
      rank.use();
      check(cudaMemsetAsync(rank.wrong.get(), 0, sizeof(WrongCounts), rank.stream.get()), rank.label,
            "cudaMemsetAsync");
      for (int sample = 0; sample < burst.samples; ++sample) {
        if (burst.is_wrong(sample, rank.number)) poison(rank, sample + 1, {});
        compare(rank, sample, burst.blocks);
      }
    }
    wait(deadline);
    for (const LocalRank& rank : ranks_) {
      WrongCounts found{};
      check(cudaMemcpy(&found, rank.wrong.get(), sizeof(found), cudaMemcpyDeviceToHost), rank.label, "cudaMemcpy");
      for (std::size_t sample = 0; sample < found.size(); ++sample) times.wrong.at(sample) += found.at(sample);
    }
    return seconds_since(began);
  }

  void poison(const LocalRank& rank, int number, const ElementBlocks& blocks) const {
    rank.use();
    cuda::launch_poison(window(rank, number), layout_.elements(), wanted_, layout_.part, blocks, rank.stream.get());
  }

  void fill(const LocalRank& rank, int number, const ElementBlocks& blocks) const {
    rank.use();
    cuda::launch_fill(sending(rank, number), sent_elements(wanted_, layout_, rank.number), wanted_, expectation(),
                      member_number(wanted_, rank.number), blocks, rank.stream.get());
  }

  /// Returns the expected data, calculated once per case.
  void expect(const LocalRank& rank) const {
    rank.use();
    cuda::launch_expected(rank.expected.get(), received_elements(wanted_, layout_, rank.number), wanted_, expectation(),
                          member_number(wanted_, rank.number), rank.stream.get());
  }

  void compare(const LocalRank& rank, int sample, const ElementBlocks& blocks) const {
    auto* const wrong = reinterpret_cast<unsigned long long*>(rank.wrong.get()) + sample;
    cuda::launch_check(receiving(rank, sample + 1), rank.expected.get(),
                       received_elements(wanted_, layout_, rank.number), wanted_, layout_.part, blocks,
                       tolerance_of(wanted_, members(wanted_, all_)), wrong, rank.stream.get());
  }

  Expectation expectation() const { return expectation_of(wanted_, layout_, members(wanted_, all_)); }

  /// Polls streams and NCCL in turn until the deadline.
  void wait(Deadline deadline) {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].use();
      for (std::uint64_t polls = 0;; ++polls) {
        const cudaError_t status = cudaStreamQuery(ranks_[i].stream.get());
        if (status == cudaSuccess) break;
        if (status != cudaErrorNotReady) check(status, ranks_[i].label, "the collective");
        if (polls % polls_between_checks != 0) continue;
        if ((*now_)[i] != nullptr) nccl::check_state((*now_)[i]);
        if (deadline.passed()) throw TimedOut(ranks_[i].label + ": the collective did not end in time");
      }
    }
  }

  /// Throws DeviceError if NCCL ran another algorithm than the forced one.
  void refuse_other_choice() const {
    const std::string ran = choice();
    if (ran.empty() || wanted_.algorithm[0] == 0 || is_algorithm(ran, wanted_.algorithm.data())) return;
    throw DeviceError("NCCL ran " + ran + " instead of the requested " + wanted_.algorithm.data());
  }

  static constexpr double grace_of_calls = 5;  ///< seconds by which a call of NCCL may exceed its deadline
  static constexpr int polls_between_checks = 4096;
  static constexpr std::uint64_t window_alignment = 4096;
  static constexpr std::size_t last_lines = 4096;  ///< bytes at the end of the log that contain the last choice

  int all_;
  std::vector<LocalRank> ranks_;
  nccl::Communicators communicators_;
  const std::vector<ncclComm_t>* now_ = nullptr;  ///< communicators of the prepared case
  cuda::LaunchGate gate_;
  GateUse gate_use_ = GateUse::not_yet;
  CollectiveCase wanted_;
  Layout layout_;
  std::pair<int, int> recorded_{};  ///< repeats per graph, and number of graphs
};

}  // namespace

std::unique_ptr<CollectiveWorker> make_nccl_worker(NcclRanks ranks, const NcclId& id) {
  return std::make_unique<NcclWorker>(ranks, id);
}

}  // namespace linkmatrix
