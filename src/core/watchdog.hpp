#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "core/clock.hpp"

namespace linkmatrix {

/// Calls `expire` once, on a thread of its own, if it still lives when the deadline passes: the last resort for a call
/// into a driver that never returns.
class Watchdog {
 public:
  Watchdog(Deadline deadline, std::function<void()> expire);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace linkmatrix
