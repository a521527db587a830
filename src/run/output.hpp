#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"

namespace linkmatrix {

/// Writes a text, waiting for whoever reads it until the time is over at most: a pipe that nobody reads holds nobody
/// up. Returns 0, or what was wrong as errno has it: ETIMEDOUT where it did not all go out in time.
int write_until(int descriptor, std::string_view text, Clock::time_point until);

/// "PROGRAM: SENTENCE" to standard error, in one call: several ranks that fail alike say it at once, and pieces of
/// theirs would run into each other. It needs no memory.
void say(std::string_view program, std::string_view sentence);

/// Standard output, or what stands for it: a text that was printed is out, nothing waits in a buffer for an orderly
/// end.
class Output {
 public:
  explicit Output(int descriptor) : descriptor_{descriptor} {}

  /// Waits for whoever reads, for ever. What cannot be written is no exception: the run goes on without it.
  void print(std::string_view text) {
    waiting_ = true;
    keep(write_until(descriptor_, text, Clock::time_point::max()));
    waiting_ = false;
  }
  /// The same, for so long at most.
  void print_until(std::string_view text, Clock::time_point until) { keep(write_until(descriptor_, text, until)); }
  /// Whether `print` has begun and not ended.
  bool is_waiting() const { return waiting_; }
  /// What was wrong first, a sentence; nothing: all was printed.
  std::optional<std::string> failure() const;
  /// Whether that is a file on a full disk, or beyond a quota.
  bool has_no_room() const;

 private:
  void keep(int error);

  int descriptor_;
  std::atomic<int> error_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace linkmatrix
