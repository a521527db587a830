#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace linkmatrix {

/// Writes a text, and waits for a slow reader until `until` at most. Returns 0 or an errno value; ETIMEDOUT if the text
/// was not written in time.
int write_until(int descriptor, std::string_view text, Clock::time_point until);

/// Writes "PROGRAM: SENTENCE" to standard error in one call, so that the lines of several ranks do not mix. Allocates
/// no memory.
void say(std::string_view program, std::string_view sentence);

/// Standard output without a buffer: printed text is written immediately.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_{descriptor} {}

  /// Writes a text, and waits for the reader without limit. A failure is recorded instead of thrown, so that the run
  /// continues.
  void print(std::string_view text) {
    waiting_ = true;
    keep(write_until(descriptor_, text, Clock::time_point::max()));
    waiting_ = false;
  }
  /// As `print`, until `until` at most.
  void print_until(std::string_view text, Clock::time_point until) { keep(write_until(descriptor_, text, until)); }
  /// Returns whether `print` is waiting for the reader.
  bool is_waiting() const { return waiting_; }
  /// Returns one sentence on the first failure; nothing if all text was written.
  std::optional<std::string> failure() const;
  /// Returns whether a full disk or a quota caused the failure.
  bool has_no_room() const;

 private:
  void keep(int error);

  int descriptor_;
  std::atomic<int> error_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace linkmatrix
