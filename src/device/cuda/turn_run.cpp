#include <algorithm>
#include <list>
#include <thread>

#include "device/cuda/failures.hpp"
#include "device/cuda/load.hpp"

namespace linkmatrix::cuda {
namespace {

constexpr double good_reference = 30e-6;  // seconds; an event takes some µs unless this thread is preempted
constexpr int most_references = 3;

class TurnRun {
 public:
  TurnRun(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline)
      : work_{work},
        copies_{copies},
        failures_{failures},
        deadline_{deadline},
        placed_{work.place(copies)},
        references_(copies.size()),
        starts_(copies.size()),
        enqueue_seconds_(copies.size()) {}

  Timeline run() {
    set_references();
    failures_.raise();
    for (std::size_t k = 0; k < copies_.size(); ++k)
      if (copies_[k].background) loads_.emplace_back(work_, k, placed_[k]);
    enqueue_in_turn();
    await_all(ends_, deadline_, failures_, [this] { top_up(); });
    end_loads();
    failures_.raise();
    return timeline();
  }

 private:
  /// Records an event in each stream at a known host time. It converts the stream's other events to the host's clock.
  void set_references() {
    for (std::size_t k = 0; k < copies_.size(); ++k)
      failures_.guard(k, placed_[k].on, [&] {
        const PlacedCopy& placed = placed_[k];
        Reference narrowest = take_reference(k, placed.lane.start);
        for (int again = 0; again < most_references && narrowest.window > good_reference; ++again) {
          Event event = make_event(placed.on.where());
          const Reference next = take_reference(k, event);
          if (next.window >= narrowest.window) continue;
          narrowest = next;
          std::swap(placed.lane.start, event);
        }
        references_[k] = narrowest.at;
        uncertainty_ = std::max(uncertainty_, narrowest.window);
      });
  }

  struct Reference {
    Clock::time_point at;
    double window;  ///< the event happened within this many seconds before `at`
  };

  Reference take_reference(std::size_t k, const Event& event) {
    const PlacedCopy& placed = placed_[k];
    placed.on.use();
    const auto before = Clock::now();
    check(cudaEventRecord(event.get(), placed.lane.stream.get()), placed.on.where(), "cudaEventRecord");
    await_all({{k, placed.on, event.get()}}, deadline_, failures_);
    const auto after = Clock::now();
    return {after, std::chrono::duration<double>(after - before).count()};
  }

  void enqueue_in_turn() {
    int turns = 0;
    for (const Copy& copy : copies_)
      if (!copy.background) turns = std::max(turns, copy.repeats);
    for (int turn = 0; turn < turns; ++turn) {
      auto load = loads_.begin();
      for (std::size_t k = 0; k < copies_.size(); ++k) {
        Load* const mine = copies_[k].background ? &*load++ : nullptr;
        if (mine == nullptr && turn >= copies_[k].repeats) continue;
        try {
          hand_over(k, turn, mine);
        } catch (const CudaError& e) {
          failures_.failed(k, e.what());
          return end_all(turn);
        }
      }
      if (!deadline_.passed()) continue;
      for (std::size_t k = 0; k < copies_.size(); ++k)
        if (!copies_[k].background && copies_[k].repeats > turn + 1) failures_.late(k);
      return end_all(turn + 1);
    }
  }

  /// Enqueues one transfer, and the end event after the last transfer of a measured copy.
  void hand_over(std::size_t k, int turn, Load* load) {
    const Copy& copy = copies_[k];
    const auto begin = Clock::now();
    if (turn == 0) starts_[k] = begin;
    if (load != nullptr)
      load->enqueue_in_turn();
    else
      work_.enqueue(placed_[k], 1);
    enqueue_seconds_[k] += seconds_since(begin);
    if (load == nullptr && turn + 1 == copy.repeats) end(k);
  }

  void end(std::size_t k) {
    const PlacedCopy& placed = placed_[k];
    placed.on.use();
    check(cudaEventRecord(placed.lane.stop.get(), placed.lane.stream.get()), placed.on.where(), "cudaEventRecord");
    ends_.push_back({k, placed.on, placed.lane.stop.get()});
  }

  /// After a timeout or a failure, the enqueued work must still end.
  void end_all(int turns) {
    for (std::size_t k = 0; k < copies_.size(); ++k)
      if (!copies_[k].background && copies_[k].repeats > turns && !placed_[k].on.lost)
        failures_.guard(k, placed_[k].on, [&] { end(k); });
  }

  void top_up() {
    for (Load& load : loads_)
      if (!load.on().lost) failures_.guard(load.copy(), load.on(), [&] { load.top_up(); });
  }

  void end_loads() {
    ends_.clear();
    for (const Load& load : loads_)
      if (!load.on().lost) failures_.guard(load.copy(), load.on(), [&] { end(load.copy()); });
    await_all(ends_, deadline_, failures_);
  }

  Timeline timeline() const {
    Timeline timeline;
    timeline.timing = Timing::in_turn;
    timeline.uncertainty = uncertainty_;
    const auto zero = starts_.front();
    const auto since_zero = [&](Clock::time_point at) { return std::chrono::duration<double>(at - zero).count(); };
    for (std::size_t k = 0; k < copies_.size(); ++k) {
      const PlacedCopy& placed = placed_[k];
      const double took = seconds_between(placed.lane.start, placed.lane.stop, placed.on.where());
      const double repeats = placed.copy.repeats;
      timeline.copies.push_back(
          {{since_zero(starts_[k]), since_zero(references_[k]) + took}, repeats, enqueue_seconds_[k] / repeats});
    }
    double measured_end = 0;
    for (std::size_t k = 0; k < copies_.size(); ++k)
      if (!copies_[k].background) measured_end = std::max(measured_end, timeline.copies[k].span.end);
    for (const Load& load : loads_) count_load(load, measured_end, timeline.copies[load.copy()]);
    return timeline;
  }

  const CopyWork& work_;
  std::span<const Copy> copies_;
  Failures& failures_;
  Deadline deadline_;
  std::vector<PlacedCopy> placed_;
  std::vector<Clock::time_point> references_, starts_;
  std::vector<double> enqueue_seconds_;
  std::list<Load> loads_;
  std::vector<Awaited> ends_;
  double uncertainty_ = 0;
};

}  // namespace

Timeline run_in_turn(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline) {
  return TurnRun(work, copies, failures, deadline).run();
}

void copy_once(const CopyWork& work, std::span<const Copy> copies, Failures& failures, Deadline deadline) {
  std::vector<Copy> plain(copies.begin(), copies.end());
  for (Copy& copy : plain) copy.operation = Operation::copy;
  std::vector<Awaited> ends;
  const std::vector<PlacedCopy> all = work.place(plain);
  for (std::size_t k = 0; k < all.size(); ++k)
    failures.guard(k, all[k].on, [&] {
      work.enqueue(all[k], 1);
      check(cudaEventRecord(all[k].lane.stop.get(), all[k].lane.stream.get()), all[k].on.where(), "cudaEventRecord");
      ends.push_back({k, all[k].on, all[k].lane.stop.get()});
    });
  await_all(std::move(ends), deadline, failures);
}

}  // namespace linkmatrix::cuda
