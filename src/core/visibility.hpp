#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/pattern.hpp"

namespace linkmatrix {

/// Visibility of writes: the litmus test of message passing (Alglave, Maranget & Tautschnig, TOPLAS 2014; PTX ISA,
/// "Memory Consistency Model"). In each round one side writes data, then sets a flag with release; the other one waits
/// for the flag with acquire, and compares the data while the first waits for its answer. Behind a flag that is set, no
/// word may be an old one.
///
/// The words of a round are those of the verification pattern, with the round's number as its seed: a word of any other
/// round is wrong.

/// Words of a round, of 8 bytes.
constexpr std::uint32_t handover_words = 1024;

/// Where things lie in a buffer: each in cache lines of its own.
constexpr std::uint64_t handover_flag_at = 0, handover_answer_at = 128, handover_data_at = 256;
constexpr std::uint64_t handover_spread = 64;  ///< bytes from one word to the next where each has its own packet
constexpr std::uint64_t handover_bytes = handover_data_at + handover_words * handover_spread;

/// A flag that no round has: there will be no other.
constexpr std::uint64_t no_more_rounds = ~std::uint64_t{0};

/// Where a word of a round lies, after `handover_data_at`: in odd rounds side by side, so that full packets carry them,
/// in even ones each in a packet of its own, which may take another way than the flag's.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t handover_offset(std::uint64_t number, std::uint32_t word) {
  constexpr std::uint64_t bytes = sizeof(std::uint64_t);
  return number % 2 == 1 ? word * bytes : word * handover_spread + number / 2 % (handover_spread / bytes) * bytes;
}

/// What a drill makes the writing side do wrong.
enum class WriteFault : std::uint32_t {
  none,
  reorder,    ///< the flag goes before the data, which follows when the answer is there
  drop,       ///< a word of each round is not written
  drop_flag,  ///< from the middle on, of the rounds or of the time that they may take, no flag is set
};

/// Where both sides meet; all of it is seen by both.
struct HandoverPlace {
  std::byte* area;     ///< the flag and the data
  std::byte* answers;  ///< the buffer that has the answer's word
};

/// What a back end gives two sides at most.
struct HandoverTimes {
  std::uint64_t patience_ns, longest_ns;  ///< as those of HandoverTerms
};

/// How long two sides go on.
struct HandoverTerms {
  std::uint64_t first;        ///< the rounds are those after this number, which no earlier round has had
  std::uint64_t rounds;       ///< at most
  std::uint64_t patience_ns;  ///< for a flag or an answer: then it is called never seen, and that is the end
  std::uint64_t longest_ns;   ///< after this the writing side begins no further round; the first one is always made
  WriteFault fault;

  /// What a step between two looks counts against the patience: who did not look for longer was stopped, preempted or
  /// paused, and what came meanwhile was not missed.
  LINKMATRIX_HOST_DEVICE constexpr std::uint64_t counted(std::uint64_t step_ns) const {
    const std::uint64_t most = patience_ns / 10;
    return step_ns < most ? step_ns : most;
  }
  /// Whether a side that did not look for so long may be why the other one has given up.
  LINKMATRIX_HOST_DEVICE constexpr bool stands_still(std::uint64_t step_ns) const { return step_ns > patience_ns / 2; }
  /// Whether a round, from 1, that begins then gets its flag. Where rounds are slow, a drill would end unseen with the
  /// time that they may take: its middle comes first.
  LINKMATRIX_HOST_DEVICE constexpr bool sets_flag(std::uint64_t round, std::uint64_t elapsed_ns) const {
    return fault != WriteFault::drop_flag || (2 * round <= rounds && 2 * elapsed_ns <= longest_ns);
  }
  /// Whether that round is not begun.
  LINKMATRIX_HOST_DEVICE constexpr bool is_over(std::uint64_t round, std::uint64_t elapsed_ns) const {
    return round > 1 && elapsed_ns > longest_ns && sets_flag(round, elapsed_ns);
  }
};

/// When a side looked at a clock, so that it knows how long it did not.
struct HandoverWatch {
  std::uint64_t last_ns;
  std::uint64_t longest_ns = 0;  ///< step between two looks

  /// Returns the step since the look before.
  LINKMATRIX_HOST_DEVICE constexpr std::uint64_t look(std::uint64_t now_ns) {
    const std::uint64_t step = now_ns > last_ns ? now_ns - last_ns : 0;
    last_ns = now_ns;
    if (step > longest_ns) longest_ns = step;
    return step;
  }
};

/// What one side saw. Only the checking one knows of wrong words.
struct HandoverEnd {
  std::uint64_t rounds;           ///< written and answered, or checked
  std::uint64_t wrong_words;      ///< behind a flag that was set
  std::uint64_t first_wrong;      ///< round of the first, from 1; 0: none
  std::uint64_t unseen;           ///< 1: what this side waited for did not come
  std::uint64_t stood_still = 0;  ///< 1: for so long that the other one may have given up
};

/// What both saw, of one run or of several.
struct Visibility {
  std::uint64_t rounds = 0;  ///< checked
  std::uint64_t wrong_words = 0;
  std::uint64_t first_wrong = 0;                       ///< round of the first, from 1
  std::uint64_t unseen_flags = 0, unseen_answers = 0;  ///< never seen: by who reads the data, by who wrote it
  std::uint64_t broken_off = 0;  ///< runs in which one side stood still, so that what was not seen says nothing

  bool holds() const { return wrong_words == 0 && is_seen(); }
  bool is_seen() const { return unseen_flags == 0 && unseen_answers == 0; }
  /// Of runs one after the other.
  void add(const Visibility& next) {
    if (first_wrong == 0 && next.first_wrong > 0) first_wrong = rounds + next.first_wrong;
    rounds += next.rounds;
    wrong_words += next.wrong_words;
    unseen_flags += next.unseen_flags;
    unseen_answers += next.unseen_answers;
    broken_off += next.broken_off;
  }
};

/// What was found of the writes of one endpoint, as another one reads them; empty where they hold and were read.
std::string sentence_of(const Visibility& seen, const std::string& writer, const std::string& reader);

/// Of both sides of a run. Where a round has been checked and its writer has not seen the answer, it is this that was
/// lost; else the flag.
constexpr Visibility visibility_of(const HandoverEnd& writer, const HandoverEnd& checker) {
  Visibility seen{checker.rounds, checker.wrong_words, checker.first_wrong, 0, 0};
  if (writer.unseen == 0 && checker.unseen == 0) return seen;
  if (writer.stood_still != 0 || checker.stood_still != 0)
    seen.broken_off = 1;
  else
    (checker.rounds > writer.rounds ? seen.unseen_answers : seen.unseen_flags) = 1;
  return seen;
}

}  // namespace linkmatrix
