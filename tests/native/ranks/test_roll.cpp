#include <gtest/gtest.h>

#include "core/error.hpp"
#include "ranks/roll.hpp"

namespace linkmatrix::ranks {
namespace {

/// The cards of `each` ranks on every one of `nodes`, all alike.
std::vector<Card> cards_of(int nodes, int each) {
  std::vector<Card> cards;
  for (int node = 0; node < nodes; ++node)
    for (int k = 0; k < each; ++k) {
      Card& card = cards.emplace_back();
      put(card.node, "n" + std::to_string(node));
      put(card.device, "gpu" + std::to_string(k));
      put(card.uuid, "GPU-" + std::to_string(cards.size()));
      put(card.version, "1 of GCC");
      put(card.options, "--size 4KiB");
      card.available = 1000;
      card.adapters = 4;
    }
  return cards;
}

NetworkOptions of_devices(Transport transport) {
  NetworkOptions options;
  options.memory = Memory::device;
  options.transport = transport;
  return options;
}

std::string refusal(const std::vector<Card>& cards, const NetworkOptions& options = {}) {
  return Roll(cards, options).refusal();
}

TEST(Roll, RefusesNobodyWhereAllRanksAreAlike) {
  EXPECT_EQ(refusal(cards_of(3, 2)), "");
  EXPECT_EQ(refusal(cards_of(3, 2), of_devices(Transport::staged)), "");
}

TEST(Roll, NamesTheRankThatIsNotAsTheFirstOne) {
  auto cards = cards_of(2, 2);
  put(cards[3].version, "2 of GCC");
  EXPECT_EQ(refusal(cards),
            "the ranks differ: rank 3 on n1 runs linkmatrix 2 of GCC, rank 0 on n0 1 of GCC: start the same program on "
            "all nodes");
  cards = cards_of(2, 2);
  put(cards[2].options, "--size 8KiB");
  EXPECT_EQ(refusal(cards),
            "the ranks' options differ: rank 2 on n1 was given '--size 8KiB', rank 0 '--size 4KiB': give all the same");
  cards = cards_of(2, 2);
  put(cards[1].complaint, "there is no device");
  EXPECT_EQ(refusal(cards), "rank 1 on n0: there is no device");
}

TEST(Roll, RefusesWhatTheseRanksCannotDo) {
  EXPECT_NE(refusal(cards_of(1, 1)).find("there is one rank"), std::string::npos);
  EXPECT_NE(refusal(cards_of(2, 1), of_devices(Transport::ipc)).find("of one node only"), std::string::npos);
  EXPECT_NE(refusal(cards_of(2, 1), of_devices(Transport::mpi)).find("CUDA-aware"), std::string::npos);
  auto cards = cards_of(2, 2);
  cards[3].uuid = cards[1].uuid;
  EXPECT_NE(refusal(cards, of_devices(Transport::automatic)).find("the same GPU, GPU-2"), std::string::npos);
  EXPECT_EQ(refusal(cards), "");  // of host memory it does not matter
}

TEST(Roll, TakesTheTransportThatIsThereUnlessOneIsAskedFor) {
  auto cards = cards_of(2, 2);
  for (Card& card : cards) card.cuda_aware = true;
  EXPECT_EQ(Roll(cards, of_devices(Transport::automatic)).way(0, 1), Transport::ipc);
  EXPECT_EQ(Roll(cards, of_devices(Transport::automatic)).way(1, 2), Transport::mpi);
  EXPECT_EQ(Roll(cards, of_devices(Transport::staged)).way(0, 1), Transport::staged);
  cards[3].cuda_aware = false;  // MPI must take addresses of devices everywhere
  EXPECT_EQ(Roll(cards, of_devices(Transport::automatic)).way(1, 2), Transport::staged);
  EXPECT_EQ(Roll(cards, {}).way(1, 2), Transport::mpi);
}

TEST(Roll, PairsNoMoreRanksOfTwoNodesThanAnOrderHasRoomFor) {
  const auto cards = cards_of(2, 70);
  const Rounds rounds = Roll(cards, {}).rounds(true, false, false);
  EXPECT_EQ(rounds.at(0).front().lanes.size(), most_lanes);
  NetworkOptions options;
  options.lanes = 65;
  EXPECT_THROW(Roll(cards, options).rounds(true, false, false), BadInput);
  EXPECT_THROW(Roll(cards_of(1, 4), {}).rounds(true, false, false), BadInput);
}

TEST(Roll, CountsTheMemoryOfAllRanksOfANode) {
  const Roll roll(cards_of(2, 5), {});
  EXPECT_NO_THROW(roll.check_memory(100));  // two buffers for each of five: all that there is
  EXPECT_THROW(roll.check_memory(101), BadInput);
}

}  // namespace
}  // namespace linkmatrix::ranks
