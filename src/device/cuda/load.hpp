#pragma once

#include "core/clock.hpp"
#include "device/cuda/copy_work.hpp"

namespace linkmatrix::cuda {

/// A background copy: transfers that are queued one after the other for as long as the measured copies run.
class Load {
 public:
  /// Not behind a closed gate: it makes events.
  Load(const CopyWork& work, std::size_t copy, const PlacedCopy& placed);

  /// Which of the call's copies it is.
  std::size_t copy() const { return copy_; }
  Lane& lane() const { return placed_.lane; }
  EndpointState& on() const { return placed_.on; }

  void enqueue_one();
  /// Some to begin with, behind a gate.
  void enqueue_first();
  /// The next of copies that are handed over in turn: the first one begins the load.
  void enqueue_in_turn();
  /// The measured copies begin: from now on its path must be busy.
  void begin() { busy_until_ = Clock::now(); }
  /// To be called again and again while they run: queues what is needed to keep the path busy.
  void top_up();

  int transfers() const { return enqueued_; }
  /// For how long at most the host came too late, and the path was idle.
  double idle_seconds() const { return idle_seconds_; }

 private:
  bool look();
  void count_idle();

  const CopyWork& work_;
  std::size_t copy_;
  PlacedCopy placed_;
  int enqueued_ = 0, done_ = 0;
  int ahead_ = 2;  ///< transfers that are kept in the queue, the one under way included
  Clock::time_point busy_until_{};
  double idle_seconds_ = 0;
};

/// What a timeline says of a load: one that had gaps counts as one that ended earlier by as much.
void count_load(const Load& load, double measured_end, CopyTime& time);

}  // namespace linkmatrix::cuda
