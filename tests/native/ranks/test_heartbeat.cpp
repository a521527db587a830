// Only a rank that loses rank 0 is notified.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "ranks/heartbeat.hpp"

namespace linkmatrix::ranks {
namespace {

constexpr HeartbeatPace fast{0.02, 20, 2};

/// Waits until the condition is true, for some seconds at most.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int k = 0; k < 1000 && !condition(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return condition();
}

TEST(Heartbeat, says_nothing_while_rank_0_answers_and_speaks_when_its_process_is_gone) {
  auto root = std::make_unique<Heartbeat>();
  const HeartbeatAddress address = root->answer();
  ASSERT_GT(address.count, 0);
  std::atomic<int> lost{0};
  Heartbeat rank;
  rank.watch(address, fast, [&] { ++lost; });
  std::this_thread::sleep_for(std::chrono::milliseconds(800));  // forty questions: more than may be lost
  EXPECT_EQ(lost, 0);
  root.reset();
  EXPECT_TRUE(comes_true([&] { return lost == 1; }));
}

TEST(Heartbeat, a_rank_that_never_had_an_answer_learns_nothing) {
  HeartbeatAddress address;
  {
    Heartbeat root;
    address = root.answer();
  }
  std::atomic<int> lost{0};
  Heartbeat rank;
  rank.watch(address, fast, [&] { ++lost; });
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  EXPECT_EQ(lost, 0);
}

TEST(Heartbeat, one_that_was_stopped_does_not_speak) {
  auto root = std::make_unique<Heartbeat>();
  std::atomic<int> lost{0};
  Heartbeat rank;
  rank.watch(root->answer(), fast, [&] { ++lost; });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  rank.stop();
  root.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(lost, 0);
}

TEST(Heartbeat, without_a_socket_at_rank_0_nobody_asks) {
  Heartbeat rank;
  rank.watch(HeartbeatAddress{}, fast, [] { ADD_FAILURE(); });
  rank.stop();
}

TEST(Heartbeat, any_number_of_ranks_knows_within_a_minute_and_keeps_rank_0_free) {
  for (const int ranks : {2, 1000, 4000, 100000}) {
    const HeartbeatPace pace = Heartbeat::pace_of(ranks);
    EXPECT_LT(pace.between * (pace.silent + 1), 60) << ranks;
    EXPECT_GE(pace.silent, 3) << ranks;
  }
}

}  // namespace
}  // namespace linkmatrix::ranks
