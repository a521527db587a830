#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace linkmatrix {

/// A thread bound to cores that does one job at a time.
class Worker {
 public:
  explicit Worker(std::vector<int> cores);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Hands over a job. Throws DeviceError where the last one still runs: it was given up at its deadline.
  void start(std::function<void()> job);
  /// False if the deadline passes first. Throws what the job threw.
  bool wait(Deadline deadline);

 private:
  void serve();

  std::vector<int> cores_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  std::exception_ptr failure_;
  bool busy_ = false, end_ = false;
  std::thread thread_;
};

}  // namespace linkmatrix
