#pragma once

#include <csignal>

#include "core/descriptor.hpp"

namespace linkmatrix {

/// Catches the signals that request the end of a program, in this thread and in threads started later. Batch systems
/// send SIGUSR1, SIGUSR2 or SIGXCPU before the time limit. Signals ignored at the start stay ignored (nohup), except
/// those that shells ignore for background jobs. A profiler that handles a timer signal keeps it.
///
/// SIGPIPE and SIGXFSZ become errors of the write.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Returns a descriptor that is readable after a signal.
  int number() const { return waiting_.number(); }
  /// Returns the next signal; 0: none.
  int next() const;

 private:
  sigset_t before_{};
  Descriptor waiting_;
};

/// Opens missing standard streams, so that no other file gets their numbers. Writing to such a stream still fails.
void hold_standard_streams();

}  // namespace linkmatrix
