#pragma once

#include <csignal>

#include "core/descriptor.hpp"

namespace linkmatrix {

/// The signals that ask a program to end, taken over while this lives: they wait to be read, in this thread and in
/// those that it starts from now on. Batch systems warn with SIGUSR1, SIGUSR2 or SIGXCPU before the time is over.
/// What was ignored when the program began stays so (nohup), but for what shells ignore for all in the background; and
/// a timer's signal stays with a profiler that has taken it before `main`.
///
/// A pipe that nobody reads any more and a file that is too large are errors of the write, and no signals.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Can be read when a signal has come.
  int number() const { return waiting_.number(); }
  /// The next one that has come; 0: none.
  int next() const;

 private:
  sigset_t before_{};
  Descriptor waiting_;
};

/// Opens what is missing of standard input, output and error, so that no other file gets their numbers; what is written
/// there fails as it would have.
void hold_standard_streams();

}  // namespace linkmatrix
