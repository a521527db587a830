#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/visibility.hpp"
#include "device/host/handovers.hpp"
#include "device/host/host_backend.hpp"
#include "measured_plan.hpp"
#include "run/ending.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint64_t for_ever_ns = 600'000'000'000, soon_ns = 20'000'000,
                        patience_ns = 400'000'000;  // a busy machine lets a thread wait for some of it
constexpr std::uint64_t rounds = 40;
constexpr std::array all_testcases_of_it{"device_to_device_visibility_write_sm", "device_to_device_visibility_read_sm",
                                         "device_to_host_visibility_write_sm", "host_to_device_visibility_read_sm"};

/// Returns the visibility between two threads, in memory with the content of an earlier run.
Visibility handed_over(WriteFault fault, std::uint64_t patience = for_ever_ns, std::uint64_t longest_ns = for_ever_ns) {
  std::vector<std::uint64_t> there(handover_bytes / 8, 1), here(handover_bytes / 8, 1);
  const HandoverPlace place{reinterpret_cast<std::byte*>(there.data()), reinterpret_cast<std::byte*>(here.data())};
  reset_handovers(place);
  const HandoverTerms terms{take_numbers(rounds), rounds, patience, longest_ns, fault};
  const auto never = [] { return false; };
  HandoverEnd writer{};
  std::thread other([&] { writer = write_handovers(place, terms, never); });
  const HandoverEnd checker = check_handovers(place, terms, never);
  other.join();
  return visibility_of(writer, checker);
}

TEST(Handovers, OfAMachineThatKeepsTheOrderHaveNoWrongWord) {
  const Visibility seen = handed_over(WriteFault::none);
  EXPECT_EQ(seen.rounds, rounds);
  EXPECT_TRUE(seen.holds());
  EXPECT_EQ(sentence_of(seen, "gpu0", "gpu1"), "");
}

TEST(Handovers, SeeDataThatComesAfterItsFlagInEveryRound) {
  const Visibility seen = handed_over(WriteFault::reorder);
  EXPECT_EQ(seen.rounds, rounds);
  EXPECT_EQ(seen.wrong_words, rounds * handover_words);
  EXPECT_EQ(seen.first_wrong, 1u);
}

TEST(Handovers, SeeAWordThatIsNotWrittenInEveryRound) {
  const Visibility seen = handed_over(WriteFault::drop);
  EXPECT_EQ(seen.wrong_words, rounds);
  EXPECT_TRUE(seen.is_seen());
  EXPECT_EQ(sentence_of(seen, "gpu0", "gpu1"),
            "40 stale words after a visible flag in 40 rounds, the first in round 1");
}

TEST(Handovers, GiveAFlagUpThatIsNeverSet) {
  const Visibility seen = handed_over(WriteFault::drop_flag, patience_ns);
  EXPECT_EQ(seen.wrong_words, 0u);
  EXPECT_EQ(seen.unseen_flags + seen.unseen_answers, 1u);
  EXPECT_FALSE(seen.holds());
}

TEST(Handovers, GiveThatFlagUpToWhereRoundsAreSoSlowThatTheirTimeEndsBeforeTheirMiddle) {
  constexpr std::uint64_t no_time_ns = 0;
  const Visibility seen = handed_over(WriteFault::drop_flag, patience_ns, no_time_ns);
  EXPECT_EQ(seen.unseen_flags + seen.unseen_answers, 1u);
  EXPECT_FALSE(seen.holds());
}

TEST(Handovers, OfWhichTheAnswerIsLostAreNoneWithoutAFlag) {
  const Visibility flag = visibility_of({3, 0, 0, 1}, {3, 0, 0, 1}), answer = visibility_of({3, 0, 0, 1}, {4, 0, 0, 1});
  EXPECT_EQ(flag.unseen_flags, 1u);
  EXPECT_EQ(sentence_of(flag, "gpu0", "gpu1"), "flag never visible: gpu1 waited for the flag of gpu0 after 3 rounds");
  EXPECT_EQ(answer.unseen_answers, 1u);
  EXPECT_EQ(sentence_of(answer, "gpu0", "gpu1"),
            "answer never visible: gpu0 waited for the flag of gpu1 after 4 rounds");
}

/// Such as by SIGSTOP, a container freezer, a suspended job or the migration of a virtual machine.
TEST(Handovers, OfAProcessThatWasStoppedForLongerThanTheirPatienceLackNoAnswer) {
  std::vector<std::byte> area(handover_bytes), answers(handover_bytes);
  constexpr auto patience = std::chrono::milliseconds(500);  // of which a busy machine may take a part
  const HandoverTerms terms{7, 1, std::uint64_t(std::chrono::nanoseconds(patience).count()), ~0ULL, WriteFault::none};
  std::thread other;
  const HandoverEnd writer = write_handovers({area.data(), answers.data()}, terms, [&] {
    if (other.joinable()) return false;
    std::this_thread::sleep_for(2 * patience);  // both sides stood still
    other = std::thread([&] {
      std::this_thread::sleep_for(patience / 5);
      auto& word = *reinterpret_cast<std::uint64_t*>(answers.data() + handover_answer_at);
      std::atomic_ref(word).store(terms.first + 1, std::memory_order_release);
    });
    return false;
  });
  other.join();
  EXPECT_EQ(writer.unseen, 0u);
  EXPECT_EQ(writer.rounds, 1u);
}

TEST(Handovers, SayNothingOfAFlagWhereOneSideStoodStillWhileTheOtherOneWaited) {
  const Visibility seen = visibility_of({3, 0, 0, 1}, {4, 0, 0, 1, 1});
  EXPECT_TRUE(seen.holds());
  EXPECT_EQ(seen.interrupted, 1u);
  EXPECT_EQ(sentence_of(seen, "gpu0", "host0"),
            "gpu0 or host0 was stopped or preempted, and the other endpoint did not get an answer after 4 rounds");
  EXPECT_EQ(visibility_of({4, 0, 0, 0, 1}, {4, 0, 0, 0, 1}).interrupted, 0u) << "each saw all that it waited for";
}

TEST(Handovers, KnowThatTheyStoodStill) {
  std::vector<std::byte> area(handover_bytes), answers(handover_bytes);
  const HandoverTerms terms{7, 1, soon_ns, ~0ULL, WriteFault::none};
  const HandoverWatch begun_long_ago{0};
  const auto stop = [] { return true; };
  EXPECT_EQ(check_handovers({area.data(), answers.data()}, terms, stop, begun_long_ago).has_stalled, 1u);
}

TEST(Handovers, EndWithTheTimeAfterOneRoundAtLeast) {
  std::vector<std::uint64_t> there(handover_bytes / 8), here(handover_bytes / 8);
  const HandoverPlace place{reinterpret_cast<std::byte*>(there.data()), reinterpret_cast<std::byte*>(here.data())};
  const HandoverTerms terms{take_numbers(1'000'000'000), 1'000'000'000, for_ever_ns, soon_ns, WriteFault::none};
  const auto never = [] { return false; };
  HandoverEnd writer{};
  std::thread other([&] { writer = write_handovers(place, terms, never); });
  const HandoverEnd checker = check_handovers(place, terms, never);
  other.join();
  const Visibility seen = visibility_of(writer, checker);
  EXPECT_GE(seen.rounds, 1u);
  EXPECT_TRUE(seen.holds());
}

TEST(Handovers, PutEveryWordOfARoundInAPlaceOfItsOwn) {
  for (std::uint64_t number = 0; number < 20; ++number) {
    std::set<std::uint64_t> places;
    for (std::uint32_t word = 0; word < handover_words; ++word) {
      const std::uint64_t at = handover_data_at + handover_offset(number, word);
      EXPECT_TRUE(places.insert(at).second);
      EXPECT_LE(at + 8, handover_bytes);
    }
  }
}

std::vector<Copy> copies_of(Backend& backend, const std::string& name, WriteFault fault) {
  Copy copy = make_plan(testcase(name), backend, {}).cells.front().copies.front();
  copy.write_fault = fault;
  return {copy};
}

TEST(HostBackend, ChecksWritesWhileTheyAreMadeBetweenDevicesAndWithHostMemory) {
  const auto backend = make_host_backend({});
  for (const std::string name : all_testcases_of_it) {
    for (const auto& [fault, wrong_words] :
         {std::pair{WriteFault::none, 0u}, {WriteFault::reorder, handover_words}, {WriteFault::drop, 1u}}) {
      const std::vector<Copy> copies = copies_of(*backend, name, fault);
      backend->prepare(copies, Deadline::in(60));
      const CopyTime time = backend->run(copies, Deadline::in(60)).copies.front();
      ASSERT_TRUE(time.visibility) << name;
      EXPECT_GE(time.visibility->rounds, 1u) << name;
      EXPECT_EQ(time.transfers, static_cast<double>(time.visibility->rounds)) << name;
      EXPECT_EQ(time.visibility->wrong_words, time.visibility->rounds * wrong_words) << name;
      EXPECT_TRUE(time.visibility->is_seen()) << name;
      EXPECT_EQ(backend->verify(copies, 7, Deadline::in(60)).front().wrong_bytes, 0u) << name;
    }
  }
}

TEST(HostBackend, GivesAFlagUpBeforeTheTimeOfTheCellIsOver) {
  const auto backend = make_host_backend({});
  const std::vector<Copy> copies = copies_of(*backend, "device_to_device_visibility_write_sm", WriteFault::drop_flag);
  backend->prepare(copies, Deadline::in(60));
  const CopyTime time = backend->run(copies, Deadline::in(4)).copies.front();
  ASSERT_TRUE(time.visibility);
  EXPECT_FALSE(time.visibility->is_seen());
}

/// Returns the record of a machine that loses writes in a selected run.
Record record_losing(ScriptedBackend& backend, const std::function<void(const Copy&, int run, Visibility&)>& lose) {
  backend.timing = [&](std::span<const Copy> copies, Timeline& timeline) {
    for (std::size_t c = 0; c < copies.size(); ++c) {
      Visibility seen;
      seen.rounds = static_cast<std::uint64_t>(copies[c].repeats) * accesses_per_repeat;
      lose(copies[c], backend.runs, seen);
      timeline.copies[c].set_visibility(seen);
    }
  };
  return run_of(backend, make_plan(testcase("device_to_device_visibility_write_sm"), backend, {}));
}

double sum_of(const MatrixResult& result, const std::string& part) {
  double sum = 0;
  for (const auto& value : result.parts.at(part).values) sum += value.value_or(0);
  return sum;
}

TEST(VisibilityTest, OfAHealthyMachineIsCompleteAndSaysHowManyRoundsItSaw) {
  ScriptedBackend backend(3, at_10_gigabytes);
  double made = 0;
  const Record record =
      record_losing(backend, [&](const Copy&, int, Visibility& seen) { made += double(seen.rounds); });
  const MatrixResult& result = record.results.front();
  EXPECT_TRUE(result.complete());
  EXPECT_EQ(judge(record).word, std::string("PASS"));
  EXPECT_EQ(sum_of(result, "rounds"), made) << "those of warm-up and calibration too";
  EXPECT_EQ(sum_of(result, "wrong_words"), 0);
  EXPECT_EQ(sum_of(result, "unseen"), 0);
}

TEST(VisibilityTest, CondemnsACellForAWrongWordOfItsFirstWarmUp) {
  ScriptedBackend backend(3, at_10_gigabytes);
  bool once = false;
  const Record record = record_losing(backend, [&](const Copy& copy, int, Visibility& seen) {
    if (copy.source != 1 || copy.destination != 2 || std::exchange(once, true)) return;
    seen.wrong_words = 3, seen.first_wrong = 5;
  });
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.status(1, 2), CellStatus::corrupt);
  EXPECT_EQ(result.cells(CellStatus::corrupt), 1u);
  EXPECT_EQ(*result.parts.at("wrong_words").values(1, 2), 3);
  EXPECT_TRUE(has_note(result, "dev1->dev2: 3 stale words after a visible flag"));
  EXPECT_EQ(judge(record).word, std::string("FAIL"));
}

TEST(VisibilityTest, DoesNotWaitAgainForAFlagThatWasNeverSeen) {
  ScriptedBackend backend(2, at_10_gigabytes);
  int waits = 0;
  const Record record = record_losing(backend, [&](const Copy& copy, int, Visibility& seen) {
    if (copy.source == 0) seen.rounds = 0, seen.unseen_flags = 1, ++waits;
  });
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(result.status(0, 1), CellStatus::corrupt);
  EXPECT_EQ(result.status(1, 0), CellStatus::ok);
  EXPECT_EQ(*result.parts.at("unseen").values(0, 1), 1);
  EXPECT_TRUE(has_note(result, "dev0->dev1: flag never visible: dev1 waited for the flag of dev0"));
}

TEST(VisibilityTest, IsMadeAgainWhereOneSideStoodStill) {
  ScriptedBackend backend(2, at_10_gigabytes);
  bool once = false;
  const Record record = record_losing(backend, [&](const Copy& copy, int, Visibility& seen) {
    if (copy.source == 0 && !std::exchange(once, true)) seen.interrupted = 1;
  });
  EXPECT_TRUE(record.results.front().complete());
  EXPECT_EQ(judge(record).word, std::string("PASS"));
}

TEST(VisibilityTest, IsNoVerdictOnWritesWhereOneSideStoodStillAgainAndAgain) {
  ScriptedBackend backend(2, at_10_gigabytes);
  const Record record = record_losing(backend, [&](const Copy& copy, int, Visibility& seen) {
    if (copy.source == 0) seen.interrupted = 1;
  });
  const MatrixResult& result = record.results.front();
  EXPECT_EQ(result.status(0, 1), CellStatus::timeout);
  EXPECT_EQ(result.cells(CellStatus::corrupt), 0u);
  EXPECT_TRUE(has_note(result, "dev0 or dev1 was stopped"));
}

TEST(VisibilityTest, HasDrillsThatNoOtherTestCaseHas) {
  ScriptedBackend backend(2, at_10_gigabytes);
  const Plan litmus = make_plan(testcase("device_to_device_visibility_read_sm"), backend, {});
  const Plan copies = make_plan(testcase("device_to_device_memcpy_write_ce"), backend, {.bytes = MiB});
  for (const char* fault : {"reorder:dev0", "drop:dev0->dev1", "drop-flag:dev1"}) {
    EXPECT_TRUE(has_fault(backend, litmus, parse_simulated_fault(fault))) << fault;
    EXPECT_FALSE(has_fault(backend, copies, parse_simulated_fault(fault))) << fault;
  }
}

}  // namespace
}  // namespace linkmatrix
