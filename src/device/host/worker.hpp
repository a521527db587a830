#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace linkmatrix {

/// A thread bound to cores that runs one job at a time.
class Worker {
 public:
  /// Throws std::system_error if no thread can be started.
  explicit Worker(std::vector<int> cores);
  /// Waits a limited time for the current job. A thread that hangs is abandoned with the objects of its job.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts a job. Throws DeviceError if the previous job, given up at its deadline, is still running.
  void start(std::function<void()> job);
  /// Waits for the job. Returns false if the deadline passes first. Throws the exception of the job.
  bool wait(Deadline deadline);
  /// Waits for a job that was given up. Returns false if its thread hangs. Throws the exception of the job.
  bool ends_after_all();

 private:
  struct Shared;

  static void serve(Shared& shared);

  std::shared_ptr<Shared> shared_;  ///< state shared with the thread, which may live longer
  std::thread thread_;
};

}  // namespace linkmatrix
