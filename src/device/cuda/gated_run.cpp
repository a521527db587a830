#include <algorithm>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <thread>

#include "device/cuda/failures.hpp"
#include "device/cuda/handovers.hpp"
#include "device/cuda/load.hpp"
#include "device/host/handovers.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr int attempts = 3;

class GatedRun {
 public:
  GatedRun(const CopyWork& work, LaunchGate& gate, std::span<const Copy> copies, Failures& failures, Deadline deadline)
      : work_{work}, gate_{gate}, copies_{copies}, failures_{failures}, deadline_{deadline} {}

  /// Returns nothing if a stream started before all other streams were ready.
  std::optional<Timeline> attempt() {
    placed_ = work_.place(copies_);
    enqueue_seconds_.assign(copies_.size(), 0);
    loads_.clear();
    measured_.clear();
    slots_.clear();
    unheld_.clear();
    host_sides_.clear();
    for (std::size_t k = 0; k < copies_.size(); ++k)
      if (copies_[k].background) loads_.emplace_back(work_, k, placed_[k]);
    enqueue_all();
    for (const auto& [copy, side] : host_sides_) side->begin();
    for (Load& load : loads_) load.begin();
    await_all(measured_, deadline_, failures_, [this] { top_up(); });
    end_loads();
    failures_.raise();
    for (const auto& [slot, copy] : slots_)
      if (gate_.timed_out(slot)) unheld_.push_back(copy);
    if (!unheld_.empty()) return std::nullopt;
    return timeline();
  }

  /// Resets flags and host threads after a discarded attempt.
  void set_up_again() {
    host_sides_.clear();
    for (std::size_t k = 0; k < copies_.size(); ++k)
      if (copies_[k].has_two_sides())
        failures_.guard(k, work_.executor(copies_[k]), [&] { work_.set_up_chain(copies_[k], deadline_); });
    failures_.raise();
  }

  /// Returns the copies whose streams did not wait for the gate in the last attempt.
  const std::vector<std::size_t>& unheld() const { return unheld_; }

 private:
  /// Enqueues the copies and opens the gate when all streams wait. Also opens it before an early return or exception.
  void enqueue_all() {
    gate_.close();
    const LaunchGate::Opener opener(gate_);
    for (std::size_t k = 0; k < copies_.size(); ++k) {
      try {
        enqueue(k);
        if (copies_[k].has_two_sides()) enqueue_other_side(k);
      } catch (const CudaError& e) {
        return failures_.failed(k, e.what());
      }
    }
    const auto late = Clock::now() + arming_time;
    while (!gate_.all_armed() && Clock::now() < late && !deadline_.passed()) std::this_thread::yield();
    for (const auto& [slot, copy] : slots_)
      if (!gate_.armed(slot)) unheld_.push_back(copy);
  }

  void enqueue(std::size_t k) {
    PlacedCopy& placed = placed_[k];
    const Copy& copy = copies_[k];
    placed.on.use();
    placed.slot = gate_.hold(placed.lane.stream.get());
    slots_.emplace_back(placed.slot, k);
    record(placed.lane.start, placed);
    const auto begin = Clock::now();
    if (copy.background)
      return std::find_if(loads_.begin(), loads_.end(), [&](const Load& l) { return l.copy() == k; })->enqueue_first();
    if (copy.is_chain())
      work_.enqueue_chain(placed, gate_);
    else
      work_.enqueue(placed, copy.repeats);
    if (!copy.is_chain()) enqueue_seconds_[k] = seconds_since(begin) / copy.repeats;
    record(placed.lane.stop, placed);
    measured_.push_back({k, placed.on, placed.lane.stop.get()});
  }

  void enqueue_other_side(std::size_t k) {
    if (!work_.answerer(copies_[k]).is_device()) {
      host_sides_.emplace(k, work_.host_side(copies_[k]));
      return;
    }
    slots_.emplace_back(work_.enqueue_answer(copies_[k], gate_), k);
    EndpointState& on = work_.answerer(copies_[k]);
    Lane& lane = on.answer_lane();
    check(cudaEventRecord(lane.stop.get(), lane.stream.get()), on.where(), "cudaEventRecord");
    measured_.push_back({k, on, lane.stop.get()});
  }

  static void record(const Event& event, const PlacedCopy& placed) {
    check(cudaEventRecord(event.get(), placed.lane.stream.get()), placed.on.where(), "cudaEventRecord");
  }

  void top_up() {
    for (Load& load : loads_)
      if (!load.on().lost) failures_.guard(load.copy(), load.on(), [&] { load.top_up(); });
  }

  void end_loads() {
    std::vector<Awaited> ends;
    for (const Load& load : loads_)
      if (!load.on().lost)
        failures_.guard(load.copy(), load.on(), [&] {
          record(load.lane().stop, placed_[load.copy()]);
          ends.push_back({load.copy(), load.on(), load.lane().stop.get()});
        });
    await_all(std::move(ends), deadline_, failures_);
  }

  /// Returns the times of the copies. Each device has its own clock, whose zero is the first start on the device.
  Timeline timeline() const {
    Timeline timeline;
    timeline.timing = Timing::gate;
    timeline.copies.resize(copies_.size());
    std::map<const EndpointState*, const Lane*> reference;
    std::map<const EndpointState*, double> zero;
    for (const PlacedCopy& placed : placed_) {
      const Lane* const first = reference.emplace(&placed.on, &placed.lane).first->second;
      double& at = zero.try_emplace(&placed.on, 0).first->second;
      at = std::min(at, seconds_between(first->start, placed.lane.start, placed.on.where()));
    }
    if (reference.size() > 1) timeline.uncertainty = gate_.uncertainty();
    double measured_end = 0;
    for (std::size_t k = 0; k < copies_.size(); ++k) {
      const PlacedCopy& placed = placed_[k];
      const auto at = [&](const Event& event) {
        return seconds_between(reference.at(&placed.on)->start, event, placed.on.where()) - zero.at(&placed.on);
      };
      CopyTime& time = timeline.copies[k];
      time = {{at(placed.lane.start), at(placed.lane.stop)}, transfers(placed.copy), enqueue_seconds_[k]};
      if (placed.copy.operation == Operation::chase) {
        const auto [seconds, loads] = work_.chased(placed);
        time.span.end = time.span.start + seconds;
        time.transfers = loads;
      }
      if (placed.copy.operation == Operation::visibility) {
        const auto host = host_sides_.find(k);
        time.set_visibility(work_.visibility(placed, host == host_sides_.end() ? nullptr : host->second.get()));
      }
      if (!placed.copy.background) measured_end = std::max(measured_end, time.span.end);
    }
    for (const Load& load : loads_) count_load(load, measured_end, timeline.copies[load.copy()]);
    return timeline;
  }

  static double transfers(const Copy& copy) {
    return static_cast<double>(copy.repeats) * (copy.is_chain() ? accesses_per_repeat : 1);
  }

  const CopyWork& work_;
  LaunchGate& gate_;
  std::span<const Copy> copies_;
  Failures& failures_;
  Deadline deadline_;
  std::vector<PlacedCopy> placed_;
  std::vector<double> enqueue_seconds_;
  std::list<Load> loads_;
  std::vector<Awaited> measured_;
  std::vector<std::pair<LaunchGate::Slot, std::size_t>> slots_;  ///< each slot and its copy
  std::vector<std::size_t> unheld_;
  std::map<std::size_t, std::unique_ptr<HostSide>> host_sides_;  ///< answering host threads by copy
};

}  // namespace

Timeline run_gated(const CopyWork& work, LaunchGate& gate, std::span<const Copy> copies, Failures& failures,
                   Deadline deadline) {
  GatedRun run(work, gate, copies, failures, deadline);
  for (int attempt = 0; attempt < attempts && !deadline.passed(); ++attempt) {
    if (attempt > 0) run.set_up_again();
    if (auto timeline = run.attempt()) return *std::move(timeline);
  }
  for (std::size_t k = 0; deadline.passed() && k < copies.size(); ++k) failures.late(k);
  failures.raise();
  for (const std::size_t copy : run.unheld())
    failures.failed(
        copy,
        "in " + std::to_string(attempts) +
            " attempts its device did not wait for the common start: check whether another process uses the device");
  failures.raise();
  throw DeviceError("the common start of the copies failed for an unknown reason");
}

HostSide::HostSide(const HandoverPlace& place, const HandoverTerms& terms, bool writes)
    : end_{std::async(std::launch::async, [this, place, terms, writes] {
        HandoverWatch watch = watch_handovers();  // starts now, because the device may already wait for this thread
        for (; !begun_; record_poll(watch)) std::this_thread::yield();
        const auto never = [] { return false; };
        return writes ? write_handovers(place, terms, never, watch) : check_handovers(place, terms, never, watch);
      })} {}

}  // namespace linkmatrix::cuda
