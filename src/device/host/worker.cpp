#include "device/host/worker.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "core/error.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace {

constexpr auto last_wait = std::chrono::seconds(2);                   // for a stopped job
constexpr auto signal_poll_interval = std::chrono::milliseconds(50);  // a signal ends every deadline

}  // namespace

struct Worker::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;
  std::exception_ptr failure;
  bool busy = false, end = false;

  bool idle_by(std::unique_lock<std::mutex>& lock, Clock::time_point time) {
    return changed.wait_until(lock, time, [this] { return !busy; });
  }
  void rethrow() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

Worker::Worker(std::vector<int> cores)
    : shared_{std::make_shared<Shared>()}, thread_{[shared = shared_, cores = std::move(cores)] {
        pin_thread(cores);
        serve(*shared);
      }} {}

Worker::~Worker() {
  bool ends = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->end = true;
    shared_->changed.notify_all();
    ends = shared_->idle_by(lock, Clock::now() + last_wait);
  }
  if (ends)
    thread_.join();
  else
    thread_.detach();
}

void Worker::start(std::function<void()> job) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->busy) throw DeviceError("a thread is still busy with a copy that did not finish in time");
  shared_->job = std::move(job);
  shared_->busy = true;
  shared_->changed.notify_all();
}

bool Worker::wait(Deadline deadline) {
  std::unique_lock lock(shared_->mutex);
  while (!shared_->idle_by(lock, std::min(deadline.at(), Clock::now() + signal_poll_interval)))
    if (deadline.passed()) return false;
  shared_->rethrow();
  return true;
}

bool Worker::wait_after_deadline() {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->idle_by(lock, Clock::now() + last_wait)) return false;
  shared_->rethrow();
  return true;
}

void Worker::serve(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  while (true) {
    shared.changed.wait(lock, [&] { return shared.busy || shared.end; });
    if (!shared.busy) return;
    std::function<void()> job = std::exchange(shared.job, nullptr);
    lock.unlock();
    std::exception_ptr failure;
    try {
      job();
    } catch (...) {
      failure = std::current_exception();
    }
    job = nullptr;  // releases its objects
    lock.lock();
    shared.failure = failure;
    shared.busy = false;
    shared.changed.notify_all();
  }
}

}  // namespace linkmatrix
