#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <string>

namespace linkmatrix {

using Clock = std::chrono::steady_clock;

/// Returns the time on the steady clock in seconds, with an arbitrary zero. All processes of a node share this clock.
inline double steady_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The signal that requested the end of this process; 0: none. The supervisor sets it (run/supervisor.hpp).
inline std::atomic<int> stop_signal{0};

/// Returns e.g. "ended by signal Terminated", or "" if no signal has arrived.
std::string stop_reason();

/// A point in time that ends waits. After a signal that requests the end of the process, every deadline has passed.
class Deadline {
 public:
  static Deadline in(double seconds) {
    return Deadline{Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
  }

  /// Returns a deadline that passes only after a signal.
  static Deadline never() { return Deadline{Clock::time_point::max()}; }

  bool passed() const { return stop_signal != 0 || Clock::now() >= at_; }
  double seconds_left() const { return std::chrono::duration<double>(at_ - Clock::now()).count(); }
  Clock::time_point at() const { return at_; }
  friend Deadline earlier(Deadline a, Deadline b) { return a.at_ < b.at_ ? a : b; }

 private:
  explicit Deadline(Clock::time_point at) : at_{at} {}
  Clock::time_point at_;
};

/// Start and end of an event, in seconds. The zero point of the clock is arbitrary.
struct Span {
  double start = 0, end = 0;
  double seconds() const { return end - start; }
};

/// Returns the span from the first start to the last end. `spans` must not be empty.
Span hull(std::span<const Span> spans);

/// Returns whether concurrent copies started together: their starts differ by at most 5 % of the shortest span.
bool started_together(std::span<const Span> spans);

}  // namespace linkmatrix
