#pragma once

#include "core/clock.hpp"
#include "device/cuda/copy_work.hpp"

namespace linkmatrix::cuda {

/// A background copy: keeps enough transfers queued to load its path while other copies are measured.
class Load {
 public:
  /// Creates events, which would block behind a closed gate. copy: index of the copy in the call.
  Load(const CopyWork& work, std::size_t copy, const PlacedCopy& placed);

  /// Returns the index of the copy in the call.
  std::size_t copy() const { return copy_; }
  Lane& lane() const { return placed_.lane; }
  EndpointState& on() const { return placed_.on; }

  void enqueue_one();
  /// Enqueues the first transfers behind the gate.
  void enqueue_first();
  /// Enqueues the next transfer with Timing::in_turn. The first call starts the load.
  void enqueue_in_turn();
  /// Begins to count idle time, at the start of the measured copies.
  void begin() { busy_until_ = Clock::now(); }
  /// Enqueues enough transfers to keep the path busy. Call it repeatedly.
  void top_up();

  int transfers() const { return enqueued_; }
  /// Returns an upper limit of the time in seconds during which the path was idle.
  double idle_seconds() const { return idle_seconds_; }

 private:
  bool poll();
  void count_idle();

  const CopyWork& work_;
  std::size_t copy_;
  PlacedCopy placed_;
  int enqueued_ = 0, done_ = 0;  ///< numbers of transfers
  int ahead_ = 2;                ///< number of queued transfers, including the current one
  Clock::time_point busy_until_{};
  double idle_seconds_ = 0;
};

/// Sets the CopyTime of a load. measured_end: end of the measured copies. Idle time shortens the span.
void count_load(const Load& load, double measured_end, CopyTime& time);

}  // namespace linkmatrix::cuda
