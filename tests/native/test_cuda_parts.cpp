#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <vector>

#include "core/units.hpp"
#include "device/cuda/failures.hpp"
#include "device/cuda/peer_access.hpp"
#include "device/cuda/reservation.hpp"

// Parts of the cuda back end that need no device.
namespace linkmatrix::cuda {
namespace {

/// A driver whose devices support a limited number of peers. It counts calls.
struct ScriptedDriver {
  std::size_t most_peers;
  std::vector<std::set<int>> on = std::vector<std::set<int>>(16);  ///< by device, each of which has a thread of its own
  std::atomic<int> calls = 0;

  std::set<int>& at(int device) { return on[static_cast<std::size_t>(device)]; }
  PeerAccess::Driver driver() {
    return {[this](PeerPair pair) {
              ++calls;
              if (at(pair.first).contains(pair.second)) return cudaErrorPeerAccessAlreadyEnabled;
              if (at(pair.first).size() == most_peers) return cudaErrorTooManyPeers;
              at(pair.first).insert(pair.second);
              return cudaSuccess;
            },
            [this](PeerPair pair) {
              ++calls;
              return at(pair.first).erase(pair.second) > 0 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
            }};
  }
};

std::map<PeerPair, bool> all_pairs(int devices, bool on) {
  std::map<PeerPair, bool> pairs;
  for (int a = 0; a < devices; ++a)
    for (int b = 0; b < devices; ++b)
      if (a != b) pairs[{a, b}] = on;
  return pairs;
}

TEST(PeerAccess, IsOnForAllWhereTheDevicesTakeThem) {
  ScriptedDriver scripted{8};
  PeerAccess peers(scripted.driver());
  peers.prepare(all_pairs(2, true));
  EXPECT_TRUE(peers.is_on({0, 1}) && peers.is_on({1, 0}));
  const int before = scripted.calls;
  peers.turn_on({0, 1}, {{0, 1}});
  peers.prepare(all_pairs(2, true));
  EXPECT_EQ(scripted.calls, before) << "what is on costs nothing";
}

TEST(PeerAccess, IsSwitchedFromRoundToRoundWhereADeviceTakesNoMorePeers) {
  ScriptedDriver scripted{8};
  PeerAccess peers(scripted.driver());
  peers.prepare(all_pairs(16, true));
  for (int shift = 1; shift < 16; ++shift)
    for (int device = 0; device < 16; ++device) {
      const PeerPair there{device, (device + shift) % 16}, back{there.second, there.first};
      for (const PeerPair& pair : {there, back}) {
        peers.turn_on(pair, {there, back});
        EXPECT_TRUE(scripted.at(pair.first).contains(pair.second));
      }
      EXPECT_LE(scripted.at(device).size(), 8u);
    }
}

TEST(PeerAccess, IsNotTakenFromThoseThatTheSameCallNeeds) {
  ScriptedDriver scripted{2};
  PeerAccess peers(scripted.driver());
  const std::set<PeerPair> needed{{0, 1}, {0, 2}, {0, 3}};
  peers.turn_on({0, 1}, needed);
  peers.turn_on({0, 2}, needed);
  EXPECT_THROW(peers.turn_on({0, 3}, needed), CudaError);
  EXPECT_TRUE(peers.is_on({0, 1}) && peers.is_on({0, 2}));
}

TEST(PeerAccess, GoesOffForCopiesThatMustDoWithoutAndAtTheEnd) {
  ScriptedDriver scripted{8};
  PeerAccess peers(scripted.driver());
  peers.prepare(all_pairs(3, true));
  peers.turn_off({0, 1});
  EXPECT_FALSE(scripted.at(0).contains(1));
  EXPECT_TRUE(scripted.at(1).contains(0));
  peers.prepare(all_pairs(3, false));
  EXPECT_FALSE(peers.is_on({1, 0}));
  peers.prepare(all_pairs(3, true));
  peers.all_off();
  for (const auto& peers_of_one : scripted.on) EXPECT_TRUE(peers_of_one.empty());
}

/// Two devices and a host memory, with nothing behind them.
std::vector<EndpointState> endpoint_states() {
  std::vector<EndpointState> out;
  for (const auto& [label, kind] :
       {std::pair{"gpu0", EndpointKind::device}, {"gpu1", EndpointKind::device}, {"numa0", EndpointKind::host}}) {
    Endpoint endpoint;
    endpoint.kind = kind;
    endpoint.label = label;
    out.emplace_back(endpoint);
  }
  return out;
}

std::string nobody(const EndpointState&) { return ""; }

TEST(Reservation, CountsEachBufferOnceAndEachSlot) {
  auto all = endpoint_states();
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 10 * MiB},
                                 {.source = 0, .destination = 1, .bytes = 30 * MiB, .destination_slot = 1},
                                 {.source = 2, .destination = 1, .bytes = 5 * MiB}};
  const Reservation reservation(copies, all);
  EXPECT_EQ(reservation.missing(0), 30 * MiB + source_windows);
  EXPECT_EQ(reservation.missing(1), 40 * MiB);
  EXPECT_EQ(reservation.missing(2), 5 * MiB + source_windows);
}

TEST(Reservation, RefusesWhatIsTooLargeForEveryDeviceAndForTheHost) {
  auto all = endpoint_states();
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = 300 * GiB},
                                 {.source = 2, .destination = 1, .bytes = 300 * GiB}};
  const Reservation reservation(copies, all);
  const auto refuse = [&](std::uint64_t on_device, std::uint64_t on_host) -> std::string {
    try {
      reservation.shortages([&](const EndpointState&) { return on_device; }, on_host, nobody);
    } catch (const BadInput& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refuse(100 * GiB, 1024 * GiB).find("on gpu0, but only 102400 MiB are free: use a smaller --size"),
            std::string::npos);
  EXPECT_NE(refuse(1024 * GiB, 100 * GiB).find("of host memory, but only 102400 MiB"), std::string::npos);
  EXPECT_EQ(refuse(1024 * GiB, 1024 * GiB), "");
}

TEST(Reservation, NamesTheOneDeviceThatHasNotTheMemoryAndWhoHoldsIt) {
  auto all = endpoint_states();
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = GiB}};
  const auto shortages =
      Reservation(copies, all)
          .shortages([&](const EndpointState& at) { return at.where() == "gpu1" ? 3 * MiB : 100 * GiB; }, 100 * GiB,
                     [](const EndpointState&) { return "; process 12 (python3) holds 139.2 GiB"; });
  ASSERT_EQ(shortages.size(), 1u);
  EXPECT_EQ(shortages.at(1),
            "the buffers need 1024 MiB on gpu1, but only 3 MiB are free; process 12 (python3) holds 139.2 GiB");
}

TEST(Reservation, AsksNothingOfDevicesThatAreLost) {
  auto all = endpoint_states();
  all[1].lost = "gpu1: no context";
  const std::vector<Copy> copies{{.source = 0, .destination = 1, .bytes = GiB}};
  EXPECT_EQ(Reservation(copies, all).missing(1), 0u);
}

TEST(Failures, RefuseTheCopiesOfALostDeviceAndNoOthers) {
  auto all = endpoint_states();
  all[1].lost = "gpu1: no context";
  const std::vector<Copy> copies{{.source = 0, .destination = 2}, {.source = 0, .destination = 1}};
  const CopyWork work(all, {});
  Failures failures(work, copies, all);
  failures.raise();
  failures.refuse_lost();
  try {
    failures.raise();
    FAIL();
  } catch (const CopiesFailed& e) {
    EXPECT_STREQ(e.what(), "gpu1: no context");
    ASSERT_EQ(e.failures().size(), 1u);
    EXPECT_EQ(e.failures().front().copy, 1u);
    EXPECT_EQ(e.failures().front().endpoint, 1);
    EXPECT_EQ(e.failures().front().status, CellStatus::error);
  }
}

TEST(Failures, TellACopyThatIsLateFromADeviceThatHangs) {
  auto all = endpoint_states();
  const std::vector<Copy> copies{
      {.source = 0, .destination = 2}, {.source = 1, .destination = 2}, {.source = 0, .destination = 1}};
  const CopyWork work(all, {});
  Failures failures(work, copies, all);
  for (const std::size_t k : {0u, 1u}) failures.late(k);
  failures.hung(1, all[1]);
  EXPECT_FALSE(all[0].lost);
  EXPECT_TRUE(all[1].lost && all[1].broken);
  try {
    failures.raise();
    FAIL();
  } catch (const CopiesFailed& e) {
    ASSERT_EQ(e.failures().size(), 3u);
    for (const auto& failure : e.failures()) {
      EXPECT_EQ(failure.status, CellStatus::timeout);
      EXPECT_EQ(failure.endpoint.has_value(), failure.copy != 0) << failure.copy;
    }
  }
}

}  // namespace
}  // namespace linkmatrix::cuda
