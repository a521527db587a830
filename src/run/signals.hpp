#pragma once

#include <csignal>

#include "core/descriptor.hpp"

namespace linkmatrix {

/// Catches the signals that request the end of a program, during the lifetime of the object. Create it before other
/// threads.
///
/// - Includes SIGUSR1, SIGUSR2 and SIGXCPU, which batch systems send before the time limit.
/// - Signals that were ignored at the start stay ignored (nohup), except those that shells ignore in background jobs.
/// - Timer signals of a profiler keep their handler.
/// - SIGPIPE and SIGXFSZ become errors of the write.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Returns a descriptor for poll(2) that is readable after a signal.
  int number() const { return waiting_.number(); }
  /// Returns the next signal that arrived; 0: none.
  int next() const;

 private:
  sigset_t before_{};
  Descriptor waiting_;
};

/// Opens closed standard streams on a file that cannot be written, so that no other file gets their numbers.
void open_missing_streams();

}  // namespace linkmatrix
