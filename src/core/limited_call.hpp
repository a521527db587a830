#pragma once

#include <mutex>

#include "core/clock.hpp"

namespace linkmatrix {

/// Time limit of a call into a library.
struct CallLimit {
  Clock::time_point over = Clock::time_point::max();  ///< end of the limit
  const char* library = "";                           ///< name of the library, for messages
};

/// Limits the time of a library call that cannot be interrupted, such as an MPI collective. Construct it before the
/// call and destroy it afterwards. If the call takes longer than `seconds`, the supervisor ends the process
/// (run/supervisor.hpp). Only one thread of a process makes such calls. Nested calls: the earliest limit applies.
class LimitedCall {
 public:
  LimitedCall(double seconds, const char* library) : before_{limit()} {
    const CallLimit own{Deadline::in(seconds).at(), library};
    if (own.over < before_.over) set(own);
  }
  ~LimitedCall() { set(before_); }
  LimitedCall(const LimitedCall&) = delete;
  LimitedCall& operator=(const LimitedCall&) = delete;

  /// Returns the limit of the current call.
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
