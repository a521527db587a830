#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace linkmatrix {

/// A thread that is bound to cores and runs one job at a time. Its functions are called from one other thread.
class Worker {
 public:
  /// Throws std::system_error if no thread can be started.
  explicit Worker(std::vector<int> cores);
  /// Waits up to two seconds for the current job. Then abandons the thread and the objects of its job.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Starts a job. Throws DeviceError if the previous job is still running after its deadline.
  void start(std::function<void()> job);
  /// Waits for the job. Returns false after the deadline. Rethrows the exception of the job.
  bool wait(Deadline deadline);
  /// Waits two further seconds for a job after its deadline. Returns false if its thread hangs. Rethrows the exception
  /// of the job.
  bool wait_after_deadline();

 private:
  struct Shared;

  static void serve(Shared& shared);

  std::shared_ptr<Shared> shared_;  ///< shared with the thread, which may live longer
  std::thread thread_;
};

}  // namespace linkmatrix
