#include "device/host/handovers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "core/clock.hpp"
#include "device/host/chains.hpp"

namespace linkmatrix {
namespace {

constexpr double patience_share = 0.5, rounds_share = 0.1;  // fractions of the time until the deadline
constexpr std::uint64_t least_patience_ns = 50'000'000;
constexpr double no_end_ns = 1e18;

std::uint64_t& word_at(std::byte* memory, std::uint64_t at) { return *reinterpret_cast<std::uint64_t*>(memory + at); }

void set(std::byte* memory, std::uint64_t at, std::uint64_t number) {
  std::atomic_ref(word_at(memory, at)).store(number, std::memory_order_release);
}

std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

enum class Wait { seen, never_seen, stopped };

/// Waits for `number`, or for the end of the rounds.
Wait wait_for(std::byte* memory, std::uint64_t at, std::uint64_t number, const HandoverTerms& terms, const Stop& stop,
              HandoverWatch& watch) {
  record_poll(watch);
  std::uint64_t waited_ns = 0;
  const std::atomic_ref word(word_at(memory, at));
  // 64 bits, because a fast processor polls 2^31 times in five seconds
  for (std::uint64_t polls = 1; word.load(std::memory_order_acquire) < number; ++polls) {
    if (polls % polls_between_yields != 0) continue;
    if (stop()) return Wait::stopped;
    if (waited_ns > terms.patience_ns) return Wait::never_seen;  // the flag was polled after the limit
    waited_ns += terms.counted(watch.record_poll(nanoseconds()));
    std::this_thread::yield();
  }
  return Wait::seen;
}

void write_words(std::byte* data, std::uint64_t number, WriteFault fault) {
  const std::uint64_t skipped = fault == WriteFault::drop ? number % handover_words : handover_words;
  for (std::uint32_t word = 0; word < handover_words; ++word)
    if (word != skipped) word_at(data, handover_offset(number, word)) = pattern_word(number, word);
}

std::uint64_t wrong_words(std::byte* data, std::uint64_t number) {
  std::uint64_t wrong = 0;
  for (std::uint32_t word = 0; word < handover_words; ++word)
    wrong += word_at(data, handover_offset(number, word)) != pattern_word(number, word) ? 1 : 0;
  return wrong;
}

HandoverEnd write_rounds(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                         HandoverWatch& watch) {
  const std::uint64_t since = nanoseconds();
  HandoverEnd end{};
  for (std::uint64_t round = 1; round <= terms.rounds; ++round) {
    const std::uint64_t number = terms.first + round;
    const std::uint64_t elapsed_ns = nanoseconds() - since;
    if (terms.is_over(round, elapsed_ns)) {
      set(place.area, handover_flag_at, no_more_rounds);
      return end;
    }
    if (terms.fault != WriteFault::reorder) write_words(place.area + handover_data_at, number, terms.fault);
    if (terms.sets_flag(round, elapsed_ns)) set(place.area, handover_flag_at, number);
    const Wait answer = wait_for(place.answers, handover_answer_at, number, terms, stop, watch);
    if (answer == Wait::never_seen) end.unseen = 1;
    if (answer != Wait::seen) return end;
    if (terms.fault == WriteFault::reorder) write_words(place.area + handover_data_at, number, terms.fault);
    end.rounds = round;
  }
  return end;
}

HandoverEnd check_rounds(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                         HandoverWatch& watch) {
  HandoverEnd end{};
  for (std::uint64_t round = 1; round <= terms.rounds; ++round) {
    const std::uint64_t number = terms.first + round;
    const Wait flag = wait_for(place.area, handover_flag_at, number, terms, stop, watch);
    if (flag == Wait::never_seen) end.unseen = 1;
    if (flag != Wait::seen) return end;
    if (std::atomic_ref(word_at(place.area, handover_flag_at)).load(std::memory_order_acquire) == no_more_rounds)
      return end;
    const std::uint64_t wrong = wrong_words(place.area + handover_data_at, number);
    if (wrong > 0 && end.first_wrong == 0) end.first_wrong = round;
    end.wrong_words += wrong;
    end.rounds = round;
    set(place.answers, handover_answer_at, number);
  }
  return end;
}

/// Returns the result of a side, and whether it stalled since its last wait.
HandoverEnd ended(HandoverEnd end, const HandoverTerms& terms, HandoverWatch& watch) {
  record_poll(watch);
  end.has_stalled = terms.has_long_gap(watch.longest_ns) ? 1 : 0;
  return end;
}

}  // namespace

HandoverWatch watch_handovers() { return {nanoseconds()}; }

void record_poll(HandoverWatch& watch) { watch.record_poll(nanoseconds()); }

HandoverEnd write_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch) {
  return ended(write_rounds(place, terms, stop, watch), terms, watch);
}

HandoverEnd check_handovers(const HandoverPlace& place, const HandoverTerms& terms, const Stop& stop,
                            HandoverWatch watch) {
  return ended(check_rounds(place, terms, stop, watch), terms, watch);
}

std::uint64_t take_numbers(std::uint64_t rounds) {
  static std::atomic<std::uint64_t> next{
      static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1))};
  return next.fetch_add(rounds);
}

HandoverTerms make_terms(std::uint64_t rounds, WriteFault fault, const HandoverTimes& most, Deadline deadline) {
  const double left_ns = std::clamp(deadline.seconds_left() * 1e9, 0.0, no_end_ns);
  const auto share = [&](double of_it) { return static_cast<std::uint64_t>(left_ns * of_it); };
  return {take_numbers(rounds), rounds, std::clamp(share(patience_share), least_patience_ns, most.patience_ns),
          std::min(share(rounds_share), most.longest_ns), fault};
}

void reset_handovers(const HandoverPlace& place) {
  set(place.area, handover_flag_at, 0);
  set(place.answers, handover_answer_at, 0);
}

}  // namespace linkmatrix
