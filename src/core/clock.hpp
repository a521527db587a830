#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <string>

namespace linkmatrix {

using Clock = std::chrono::steady_clock;

/// This moment on the steady clock, which all processes of a node share, in seconds.
inline double steady_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The signal that asked this process to end; 0: none did. Set by the supervisor (run/supervisor.hpp).
inline std::atomic<int> stop_signal{0};

/// "ended by signal Terminated"; empty where none has come.
std::string stop_reason();

/// A point in time that every wait looks at. Monotonic. Once a signal has asked for the end, all have passed.
class Deadline {
 public:
  static Deadline in(double seconds) {
    return Deadline{Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
  }

  /// One that does not come.
  static Deadline never() { return Deadline{Clock::time_point::max()}; }

  bool passed() const { return stop_signal != 0 || Clock::now() >= at_; }
  double seconds_left() const { return std::chrono::duration<double>(at_ - Clock::now()).count(); }
  Clock::time_point at() const { return at_; }
  friend Deadline earlier(Deadline a, Deadline b) { return a.at_ < b.at_ ? a : b; }

 private:
  explicit Deadline(Clock::time_point at) : at_{at} {}
  Clock::time_point at_;
};

/// From the start to the end of something: seconds on the clock of its sample, whose zero means nothing.
struct Span {
  double start = 0, end = 0;
  double seconds() const { return end - start; }
};

/// From the first start to the last end. There must be a span.
Span hull(std::span<const Span> spans);

/// Whether copies that belong together ran at once: their starts lie no further apart than 5 % of the shortest. A slow
/// copy is no reason to throw a sample away; one that began late is.
bool started_together(std::span<const Span> spans);

}  // namespace linkmatrix
