#pragma once

#include "core/clock.hpp"
#include "device/cuda/copy_work.hpp"

namespace linkmatrix::cuda {

/// A background copy: transfers that are queued one after the other while measured copies run.
class Load {
 public:
  /// Creates events, so it must not be called behind a closed gate.
  Load(const CopyWork& work, std::size_t copy, const PlacedCopy& placed);

  /// Returns the index of the copy in the call.
  std::size_t copy() const { return copy_; }
  Lane& lane() const { return placed_.lane; }
  EndpointState& on() const { return placed_.on; }

  void enqueue_one();
  /// Enqueues the first transfers, behind a gate.
  void enqueue_first();
  /// Enqueues the next of copies that are started in turn; the first one starts the load.
  void enqueue_in_turn();
  /// Marks the start of the measured copies. From then on the path must be busy.
  void begin() { busy_until_ = Clock::now(); }
  /// Enqueues enough transfers to keep the path busy. Call it repeatedly.
  void top_up();

  int transfers() const { return enqueued_; }
  /// Returns the longest time that the path may have been idle, in seconds.
  double idle_seconds() const { return idle_seconds_; }

 private:
  bool look();
  void count_idle();

  const CopyWork& work_;
  std::size_t copy_;
  PlacedCopy placed_;
  int enqueued_ = 0, done_ = 0;
  int ahead_ = 2;  ///< number of queued transfers, including the current one
  Clock::time_point busy_until_{};
  double idle_seconds_ = 0;
};

/// Sets the time of a load. Gaps shorten the load.
void count_load(const Load& load, double measured_end, CopyTime& time);

}  // namespace linkmatrix::cuda
