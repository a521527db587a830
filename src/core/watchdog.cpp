#include "core/watchdog.hpp"

namespace linkmatrix {

Watchdog::Watchdog(Deadline deadline, std::function<void()> expire)
    : thread_{[this, deadline, expire = std::move(expire)] {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_until(lock, deadline.at(), [this] { return done_; })) expire();
      }} {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace linkmatrix
