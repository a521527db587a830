#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace linkmatrix {

/// Writes a text to a descriptor, and waits for a slow reader at most until `until`. Returns 0 or an errno value;
/// ETIMEDOUT if time ran out.
int write_until(int descriptor, std::string_view text, Clock::time_point until);

/// Writes "PROGRAM: SENTENCE" to standard error in one system call, so that lines of several ranks do not mix.
/// Allocates no memory.
void print_error(std::string_view program, std::string_view sentence);

/// Unbuffered standard output. Functions may be called from two threads: the measuring thread prints, and the
/// supervisor's thread prints the last lines.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_{descriptor} {}

  /// Writes a text, and waits for the reader without limit. Records a failure instead of throwing.
  void print(std::string_view text) {
    waiting_ = true;
    keep(write_until(descriptor_, text, Clock::time_point::max()));
    waiting_ = false;
  }
  /// As print(), at most until `until`.
  void print_until(std::string_view text, Clock::time_point until) { keep(write_until(descriptor_, text, until)); }
  /// Returns whether `print` is waiting for the reader.
  bool is_waiting() const { return waiting_; }
  /// Returns one sentence on the first failure; nothing without a failure.
  std::optional<std::string> failure() const;
  /// Returns whether a full disk or a quota caused the failure.
  bool is_disk_full() const;

 private:
  void keep(int error);

  int descriptor_;
  std::atomic<int> error_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace linkmatrix
