#pragma once

#include <mutex>

#include "core/clock.hpp"

namespace linkmatrix {

/// Until when a call into which library has to be back.
struct CallLimit {
  Clock::time_point over = Clock::time_point::max();
  const char* library = "";
};

/// A call into a library that neither takes a deadline nor can be interrupted, as MPI's collectives and NCCL's start:
/// where it has not come back in so many seconds, the supervisor ends the process (run/supervisor.hpp). One thread of a
/// process makes them; within another one, the limit that is over first holds.
class LimitedCall {
 public:
  LimitedCall(double seconds, const char* library) : before_{limit()} {
    const CallLimit own{Deadline::in(seconds).at(), library};
    if (own.over < before_.over) set(own);
  }
  ~LimitedCall() { set(before_); }
  LimitedCall(const LimitedCall&) = delete;
  LimitedCall& operator=(const LimitedCall&) = delete;

  /// Of the one that is under way.
  static CallLimit limit() {
    const std::lock_guard lock(mutex_);
    return limit_;
  }

 private:
  static void set(const CallLimit& limit) {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
  }

  static inline std::mutex mutex_;
  static inline CallLimit limit_;

  CallLimit before_;
};

}  // namespace linkmatrix
