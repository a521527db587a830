#pragma once

#include <functional>
#include <string>
#include <thread>

#include "core/clock.hpp"

namespace linkmatrix {

/// A file descriptor of its own.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// "ended by signal Terminated"; empty where none has come.
std::string stop_reason();

/// The last resort for what would end a run without its record: a call into a driver that never returns, a scheduler
/// that cancels the job, a user who presses ctrl-C. Calls `expire` with the reason, once, on a thread of its own, if it
/// still lives when the deadline passes, or some time after SIGTERM or SIGINT has arrived: that ends every wait
/// (stop_signal), so that the run can end by itself. To be made before any other thread: those that come after leave
/// the signals to it.
class Watchdog {
 public:
  Watchdog(Deadline deadline, std::function<void(const std::string& why)> expire);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  Descriptor signals_, done_;
  std::thread thread_;
};

}  // namespace linkmatrix
