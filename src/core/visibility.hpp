#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/pattern.hpp"

namespace linkmatrix {

// Visibility of writes: the message-passing litmus test (Alglave, Maranget & Tautschnig, TOPLAS 2014; PTX ISA, "Memory
// Consistency Model"). A round:
//
// 1. The writer writes the data words and then sets the flag to the round's number (release).
// 2. The checker waits for the flag (acquire), compares the data and writes the number as its answer.
//
// After a visible flag no word may be stale. The data of a round is pattern_word() with the round's number as seed, so
// a word of another round is wrong.

/// Number of 8-byte words per round.
constexpr std::uint32_t handover_words = 1024;

/// Offsets of flag, answer and data in a buffer, in bytes. Each has its own cache line.
constexpr std::uint64_t handover_flag_at = 0, handover_answer_at = 128, handover_data_at = 256;
constexpr std::uint64_t handover_spread = 64;  ///< distance of words in even rounds, in bytes
constexpr std::uint64_t handover_bytes = handover_data_at + handover_words * handover_spread;

/// Flag value that ends the test. No round has this number.
constexpr std::uint64_t no_more_rounds = ~std::uint64_t{0};

/// Returns the offset of a word relative to `handover_data_at`. number: of the round. In odd rounds words are adjacent.
/// In even rounds each word is a separate packet, which may overtake or follow the flag.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t handover_offset(std::uint64_t number, std::uint32_t word) {
  constexpr std::uint64_t bytes = sizeof(std::uint64_t);
  return number % 2 == 1 ? word * bytes : word * handover_spread + number / 2 % (handover_spread / bytes) * bytes;
}

/// Simulated fault of the writing side.
enum class WriteFault : std::uint32_t {
  none,
  reorder,    ///< the flag is written before the data; the data follows after the answer
  drop,       ///< one word of each round is not written
  drop_flag,  ///< in the second half of the rounds, or of their time, no flag is set
};

/// Memory that both sides of a test access.
struct HandoverPlace {
  std::byte* area;     ///< buffer with flag and data
  std::byte* answers;  ///< buffer with the answer
};

/// Time limits of a back end, see HandoverTerms.
struct HandoverTimes {
  std::uint64_t patience_ns, longest_ns;  ///< see HandoverTerms
};

/// Limits of a test, equal for both sides.
struct HandoverTerms {
  std::uint64_t first;        ///< rounds have the numbers first + 1, first + 2, …; no earlier test used them
  std::uint64_t rounds;       ///< maximum number of rounds
  std::uint64_t patience_ns;  ///< maximum wait for a flag or answer; then the result is "never visible"
  std::uint64_t longest_ns;   ///< time after which no further round starts; the first round always runs
  WriteFault fault;

  /// Returns the part of the time between two polls that counts against the patience: at most a tenth of the patience.
  /// After a longer gap, this side was preempted or stopped.
  LINKMATRIX_HOST_DEVICE constexpr std::uint64_t counted(std::uint64_t step_ns) const {
    const std::uint64_t most = patience_ns / 10;
    return step_ns < most ? step_ns : most;
  }
  /// Returns whether the time between two polls is so long that the other side may have given up.
  LINKMATRIX_HOST_DEVICE constexpr bool has_long_gap(std::uint64_t step_ns) const { return step_ns > patience_ns / 2; }
  /// Returns whether a round sets its flag. round: from 1. elapsed_ns: its start. False only with WriteFault::drop_flag
  /// in the second half of the rounds or of the time.
  LINKMATRIX_HOST_DEVICE constexpr bool sets_flag(std::uint64_t round, std::uint64_t elapsed_ns) const {
    return fault != WriteFault::drop_flag || (2 * round <= rounds && 2 * elapsed_ns <= longest_ns);
  }
  /// Returns whether the time limit ends the test before this round.
  LINKMATRIX_HOST_DEVICE constexpr bool is_over(std::uint64_t round, std::uint64_t elapsed_ns) const {
    return round > 1 && elapsed_ns > longest_ns && sets_flag(round, elapsed_ns);
  }
};

/// Measures the gaps between the polls of one side.
struct HandoverWatch {
  std::uint64_t last_ns;
  std::uint64_t longest_ns = 0;  ///< longest time between two polls

  /// Records a poll and returns the time since the previous poll.
  LINKMATRIX_HOST_DEVICE constexpr std::uint64_t record_poll(std::uint64_t now_ns) {
    const std::uint64_t step = now_ns > last_ns ? now_ns - last_ns : 0;
    last_ns = now_ns;
    if (step > longest_ns) longest_ns = step;
    return step;
  }
};

/// Result of one side. Only the checker counts wrong words.
struct HandoverEnd {
  std::uint64_t rounds;           ///< rounds written and answered, or checked
  std::uint64_t wrong_words;      ///< stale words after a visible flag
  std::uint64_t first_wrong;      ///< round of the first wrong word, from 1; 0: none
  std::uint64_t unseen;           ///< 1: the flag or answer of the other side did not arrive
  std::uint64_t has_stalled = 0;  ///< 1: this side had a gap so long that the other side may have given up
};

/// Result of both sides, of one or several runs.
struct Visibility {
  std::uint64_t rounds = 0;  ///< checked rounds
  std::uint64_t wrong_words = 0;
  std::uint64_t first_wrong = 0;     ///< round of the first wrong word, from 1
  std::uint64_t unseen_flags = 0;    ///< flags that the checker did not see
  std::uint64_t unseen_answers = 0;  ///< answers that the writer did not see
  /// Runs in which one side stalled, so that a missing flag or answer proves nothing.
  std::uint64_t interrupted = 0;

  bool holds() const { return wrong_words == 0 && is_seen(); }
  bool is_seen() const { return unseen_flags == 0 && unseen_answers == 0; }
  /// Adds the result of the next run.
  void add(const Visibility& next) {
    if (first_wrong == 0 && next.first_wrong > 0) first_wrong = rounds + next.first_wrong;
    rounds += next.rounds;
    wrong_words += next.wrong_words;
    unseen_flags += next.unseen_flags;
    unseen_answers += next.unseen_answers;
    interrupted += next.interrupted;
  }
};

/// Returns one sentence on a failed test between two endpoints. Returns "" if the test succeeded.
std::string sentence_of(const Visibility& seen, const std::string& writer, const std::string& reader);

/// Combines the results of both sides of a run. If a side gave up: with more rounds at the checker the answer was lost,
/// else the flag.
constexpr Visibility visibility_of(const HandoverEnd& writer, const HandoverEnd& checker) {
  Visibility seen{checker.rounds, checker.wrong_words, checker.first_wrong, 0, 0};
  if (writer.unseen == 0 && checker.unseen == 0) return seen;
  if (writer.has_stalled != 0 || checker.has_stalled != 0)
    seen.interrupted = 1;
  else
    (checker.rounds > writer.rounds ? seen.unseen_answers : seen.unseen_flags) = 1;
  return seen;
}

}  // namespace linkmatrix
