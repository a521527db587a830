#pragma once

#include <atomic>

#include "core/clock.hpp"

namespace linkmatrix {

/// A call into a library that neither takes a deadline nor can be interrupted, as MPI's collectives: where it has not
/// come back in so many seconds, the supervisor ends the process (run/supervisor.hpp). One at a time in a process.
class LimitedCall {
 public:
  explicit LimitedCall(double seconds) { over_ = Deadline::in(seconds).at(); }
  ~LimitedCall() { over_ = Clock::time_point::max(); }
  LimitedCall(const LimitedCall&) = delete;
  LimitedCall& operator=(const LimitedCall&) = delete;

  /// When the one that is under way is over.
  static Clock::time_point over() { return over_; }

 private:
  static inline std::atomic<Clock::time_point> over_{Clock::time_point::max()};
};

}  // namespace linkmatrix
