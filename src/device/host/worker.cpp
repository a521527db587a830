#include "device/host/worker.hpp"

#include <utility>

#include "core/error.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {

Worker::Worker(std::vector<int> cores) : cores_{std::move(cores)}, thread_{[this] { serve(); }} {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::start(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_) throw DeviceError("a thread still works on the copy that did not finish in time");
    job_ = std::move(job);
    busy_ = true;
  }
  changed_.notify_all();
}

bool Worker::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline.at(), [this] { return !busy_; })) return false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

void Worker::serve() {
  pin_thread(cores_);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return busy_ || end_; });
    if (!busy_) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      job_();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace linkmatrix
