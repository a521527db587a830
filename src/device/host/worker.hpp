#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace linkmatrix {

/// A thread bound to cores that does one job at a time.
class Worker {
 public:
  /// Throws std::system_error where the system has no thread left.
  explicit Worker(std::vector<int> cores);
  /// Waits for a job that is under way, but not for ever: a thread that hangs is left to itself and to what its job
  /// keeps alive.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Hands over a job. Throws DeviceError where the last one still runs: it was given up at its deadline.
  void start(std::function<void()> job);
  /// False if the deadline passes first. Throws what the job threw.
  bool wait(Deadline deadline);
  /// False if a job that was given up, and told to end, does not: its thread hangs. Throws what the job threw.
  bool ends_after_all();

 private:
  struct Shared;

  static void serve(Shared& shared);

  std::shared_ptr<Shared> shared_;  ///< with the thread, which may live longer
  std::thread thread_;
};

}  // namespace linkmatrix
