#include <gtest/gtest.h>

#include "core/error.hpp"
#include "ranks/rank_table.hpp"

namespace linkmatrix::ranks {
namespace {

/// Returns equal facts of `each` ranks on each of `nodes` nodes.
std::vector<RankFacts> facts_of(int nodes, int each) {
  std::vector<RankFacts> facts;
  for (int node = 0; node < nodes; ++node)
    for (int k = 0; k < each; ++k) {
      RankFacts& own = facts.emplace_back();
      put(own.node, "n" + std::to_string(node));
      put(own.device, "gpu" + std::to_string(k));
      put(own.uuid, "GPU-" + std::to_string(facts.size()));
      put(own.version, "1 of GCC");
      put(own.options, "--size 4KiB");
      own.available = 1000;
      own.adapters = 4;
    }
  return facts;
}

NetworkOptions of_devices(Transport transport) {
  NetworkOptions options;
  options.memory = Memory::device;
  options.transport = transport;
  return options;
}

std::string refusal(const std::vector<RankFacts>& facts, const NetworkOptions& options = {}) {
  return RankTable(facts, options).refusal();
}

TEST(RankTable, RefusesNobodyWhereAllRanksAreAlike) {
  EXPECT_EQ(refusal(facts_of(3, 2)), "");
  EXPECT_EQ(refusal(facts_of(3, 2), of_devices(Transport::staged)), "");
}

TEST(RankTable, NamesTheRankThatIsNotAsTheFirstOne) {
  auto facts = facts_of(2, 2);
  put(facts[3].version, "2 of GCC");
  EXPECT_EQ(refusal(facts),
            "the ranks differ: rank 3 on n1 runs linkmatrix 2 of GCC, rank 0 "
            "on n0 1 of GCC: start the same program on "
            "all nodes");
  facts = facts_of(2, 2);
  put(facts[2].options, "--size 8KiB");
  EXPECT_EQ(refusal(facts),
            "the ranks' options differ: rank 2 on n1 has '--size 8KiB', "
            "rank 0 '--size 4KiB': give all ranks the same options");
  facts = facts_of(2, 2);
  put(facts[1].complaint, "there is no device");
  EXPECT_EQ(refusal(facts), "rank 1 on n0: there is no device");
}

TEST(RankTable, RefusesTwoHostsOfOneName) {
  auto facts = facts_of(2, 2);
  for (std::size_t rank = 0; rank < facts.size(); ++rank) put(facts[rank].boot, rank < 2 ? "5b0c" : "17aa");
  EXPECT_EQ(refusal(facts), "");
  for (RankFacts& own : facts) put(own.node, "localhost");
  EXPECT_EQ(refusal(facts),
            "rank 0 and rank 2 are on two hosts with the same name, localhost: give each host its own name");
  for (std::size_t rank : {0, 1}) facts[rank].boot = {};  // nobody knows
  EXPECT_EQ(refusal(facts), "");
}

TEST(RankTable, RefusesWhatTheseRanksCannotDo) {
  EXPECT_NE(refusal(facts_of(1, 1)).find("only one rank was started"), std::string::npos);
  EXPECT_NE(refusal(facts_of(2, 1), of_devices(Transport::ipc)).find("of one node only"), std::string::npos);
  EXPECT_NE(refusal(facts_of(2, 1), of_devices(Transport::mpi)).find("CUDA-aware"), std::string::npos);
  auto facts = facts_of(2, 2);
  facts[3].uuid = facts[1].uuid;
  EXPECT_NE(refusal(facts, of_devices(Transport::automatic)).find("the same GPU, GPU-2"), std::string::npos);
  EXPECT_EQ(refusal(facts), "");  // of host memory it does not matter
}

TEST(RankTable, TakesTheTransportThatIsThereUnlessOneIsAskedFor) {
  auto facts = facts_of(2, 2);
  for (RankFacts& own : facts) own.cuda_aware = true;
  EXPECT_EQ(RankTable(facts, of_devices(Transport::automatic)).route(0, 1), Transport::ipc) << "MPI takes its memory";
  EXPECT_EQ(RankTable(facts, of_devices(Transport::automatic)).route(1, 2), Transport::mpi);
  EXPECT_EQ(RankTable(facts, of_devices(Transport::staged)).route(0, 1), Transport::staged);
  facts[3].cuda_aware = false;  // MPI must take addresses of devices everywhere
  EXPECT_EQ(RankTable(facts, of_devices(Transport::automatic)).route(1, 2), Transport::staged);
  EXPECT_EQ(RankTable(facts, {}).route(1, 2), Transport::mpi);
}

TEST(RankTable, SharesMemoryByDescriptorsWhereAllDevicesHaveThem) {
  auto facts = facts_of(1, 3);
  EXPECT_EQ(RankTable(facts, of_devices(Transport::automatic)).route(0, 1), Transport::ipc);
  EXPECT_NE(refusal(facts, of_devices(Transport::fd)).find("use --transport ipc"), std::string::npos);
  for (RankFacts& own : facts) own.has_descriptors = true;
  const RankTable table(facts, of_devices(Transport::automatic));
  EXPECT_EQ(table.route(0, 1), Transport::fd);
  EXPECT_EQ(table.copies_sharing(), Transport::fd);
  EXPECT_EQ(RankTable(facts, of_devices(Transport::ipc)).copies_sharing(), Transport::ipc);
  EXPECT_EQ(RankTable(facts, of_devices(Transport::staged)).sharing(), Transport::ipc);
}

TEST(RankTable, RefusesFabricHandlesWithTheDriversReason) {
  auto facts = facts_of(2, 1);
  EXPECT_EQ(refusal(facts, of_devices(Transport::fabric)), "");
  EXPECT_EQ(RankTable(facts, of_devices(Transport::fabric)).route(0, 1), Transport::fabric);
  EXPECT_EQ(RankTable(facts, of_devices(Transport::fabric)).topology(10).peer_access(0, 1), true);
  EXPECT_EQ(RankTable(facts, of_devices(Transport::staged)).topology(10).peer_access(0, 1), false);
  put(facts[1].no_fabric, "gpu0: cuMemCreate failed: CUDA_ERROR_NOT_PERMITTED");
  EXPECT_NE(refusal(facts, of_devices(Transport::fabric)).find("NOT_PERMITTED"), std::string::npos);
}

/// Two trays of an NVLink domain: 18 NVLinks per device, one domain and clique.
std::vector<RankFacts> facts_of_domain() {
  auto facts = facts_of(2, 2);
  for (RankFacts& own : facts) {
    put(own.domain, "5e797fc6-0f46-421a-8724-0e102c0f723c.1");
    put(own.fabric, "completed");
    own.nvlinks = 18;
    own.nvlink_limit = 900;
  }
  return facts;
}

TEST(RankTable, HasTheClassOfNvlinkBetweenNodesWhereFabricHandlesCarryTheBytes) {
  auto facts = facts_of_domain();
  facts[3].nvlinks = 17;
  facts[3].nvlink_limit = 850;
  const RankTable table(facts, of_devices(Transport::fabric));
  EXPECT_EQ(table.refusal(), "");
  EXPECT_EQ(table.link_class(false, 0, 2), "NV18");
  EXPECT_EQ(table.link_class(false, 0, 3), "NV17");
  EXPECT_EQ(table.link_class(false, 0, 1), "NV18") << "devices of a tray use the same switches";
  EXPECT_EQ(table.link_class(true, 0, 1), between_nodes) << "nodes, not devices";
  const Topology topology = table.topology(10);
  EXPECT_EQ(topology.links(0, 2), 18);
  EXPECT_EQ(topology.limit(0, 3), 850);
  EXPECT_EQ(table.endpoints()[2].place.at("domain"), "5e797fc6-0f46-421a-8724-0e102c0f723c.1");
  EXPECT_EQ(RankTable(facts, of_devices(Transport::staged)).link_class(false, 0, 2), between_nodes);
}

TEST(RankTable, RefusesFabricHandlesBetweenDomains) {
  auto facts = facts_of_domain();
  put(facts[3].domain, "5e797fc6-0f46-421a-8724-0e102c0f723c.2");
  EXPECT_EQ(refusal(facts, of_devices(Transport::fabric)),
            "--transport fabric: n0:gpu0 is in NVLink domain 5e797fc6-0f46-421a-8724-0e102c0f723c.1, n1:gpu1 in "
            "5e797fc6-0f46-421a-8724-0e102c0f723c.2: start all ranks in one domain and clique");
  facts[3].domain = {};
  put(facts[3].fabric, "in progress");
  EXPECT_EQ(
      refusal(facts, of_devices(Transport::fabric)),
      "--transport fabric: n1:gpu1 is in no NVLink domain that spans nodes (NVML's fabric state: in progress): use "
      "--transport mpi or staged");
  facts[3].fabric = {};
  EXPECT_EQ(refusal(facts, of_devices(Transport::fabric)), "") << "NVML is missing: the driver decides";
  EXPECT_EQ(refusal(facts_of_domain(), of_devices(Transport::staged)), "");
}

TEST(RankTable, LeavesADeviceThatDoesNotWorkOutAndNotTheRun) {
  auto facts = facts_of(1, 3);
  for (RankFacts& own : facts) own.has_descriptors = true;
  facts[1].has_descriptors = false;
  facts[1].uuid = facts[2].uuid = {};  // nobody knows which it is
  put(facts[1].no_device, "gpu1: context failed: out of memory");
  facts[1].no_device_loss = LossKind::memory;
  const RankTable table(facts, of_devices(Transport::automatic));
  EXPECT_EQ(table.refusal(), "");
  ASSERT_EQ(table.no_device().size(), 3u);
  EXPECT_EQ(table.no_device()[0].why + table.no_device()[2].why, "");
  EXPECT_EQ(table.no_device()[1].why, "gpu1: context failed: out of memory");
  EXPECT_EQ(table.no_device()[1].loss, LossKind::memory);
  EXPECT_EQ(table.copies_sharing(), Transport::fd) << "it is not there to be asked";
  for (RankFacts& own : facts) put(own.no_device, "gone");
  EXPECT_NE(refusal(facts, of_devices(Transport::automatic)).find("no rank has a working device"), std::string::npos);
}

TEST(RankTable, TakesTheLinksOfDevices) {
  RankTable table(facts_of(1, 2), of_devices(Transport::automatic));
  EXPECT_EQ(table.link_class(false, 0, 1), inside_node);
  Topology links = table.topology(10);
  links.link_class(0, 1) = links.link_class(1, 0) = "NV18";
  table.set_links(table.endpoints(), links);
  EXPECT_EQ(table.link_class(false, 0, 1), "NV18");
  EXPECT_EQ(table.topology(10).link_class(1, 0), "NV18");
}

TEST(RankTable, PairsNoMoreRanksOfTwoNodesThanAnOrderHasRoomFor) {
  const auto facts = facts_of(2, 70);
  const RankRounds rounds = RankTable(facts, {}).rounds(true, false, false);
  EXPECT_EQ(rounds.pairs_of(rounds.at(0).front()).size(), most_pairs);
  NetworkOptions options;
  options.pairs_per_node = 65;
  EXPECT_THROW(RankTable(facts, options).rounds(true, false, false), BadInput);
  EXPECT_THROW(RankTable(facts_of(1, 4), {}).rounds(true, false, false), BadInput);
}

TEST(RankTable, CountsTheMemoryOfAllRanksOfANode) {
  const RankTable table(facts_of(2, 5), {});
  EXPECT_NO_THROW(table.check_memory(66));  // three buffers for each of five, of 1000 bytes
  EXPECT_THROW(table.check_memory(67), BadInput);
}

}  // namespace
}  // namespace linkmatrix::ranks
