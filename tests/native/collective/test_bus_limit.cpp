#include <gtest/gtest.h>

#include "collective/bus_limit.hpp"
#include "collective/nccl_log.hpp"

namespace linkmatrix {
namespace {

AdapterPort fabric(const std::string& rate, const std::string& state = "ACTIVE") {
  AdapterPort port;
  port.rate = rate, port.state = state;
  port.place["port"] = "1";
  return port;
}

AdapterPort ethernet(const std::string& rate, const std::string& state = "up") {
  AdapterPort port;
  port.rate = rate, port.state = state;
  return port;
}

NodeFacts node(const std::string& name, std::vector<AdapterPort> adapters) {
  NodeFacts node;
  node.name = name;
  node.adapters = std::move(adapters);
  return node;
}

std::vector<Endpoint> ranks(int nodes, int each, std::optional<double> link, std::optional<double> host = {}) {
  std::vector<Endpoint> all;
  for (int rank = 0; rank < nodes * each; ++rank) {
    Endpoint& one = all.emplace_back();
    one.node = "n" + std::to_string(rank / each);
    one.link_limit = link, one.host_limit = host;
  }
  return all;
}

TEST(NetworkLimit, IsTheSumOfThePortsThatAreUp) {
  const std::string hundred = "100 Gb/sec (4X EDR)";
  EXPECT_EQ(network_limit(node("n0", {fabric(hundred), fabric(hundred), fabric(hundred, "DOWN")})), 25.0);
  EXPECT_EQ(network_limit(node("n0", {ethernet("25000 Mb/s"), ethernet("25000 Mb/s", "down")})), 3.125);
  EXPECT_EQ(network_limit(node("n0", {fabric(hundred), ethernet("25000 Mb/s")})), 12.5)
      << "where there is a fabric, Ethernet is for other things";
  EXPECT_EQ(network_limit(node("n0", {fabric("")})), std::nullopt) << "unknown is no 0";
  EXPECT_EQ(network_limit(node("n0", {})), std::nullopt);
}

std::optional<double> by_ring(Collective collective, const std::vector<Endpoint>& all,
                              const std::vector<NodeFacts>& nodes) {
  return bus_limit({.collective = collective}, Route::ring, all, nodes);
}
std::optional<double> by_any(const CollectiveCase& wanted, const std::vector<Endpoint>& all,
                             const std::vector<NodeFacts>& nodes) {
  return bus_limit(wanted, Route::any, all, nodes);
}

TEST(NetworkLimit, IsNotKnownWhereOnePortDoesNotSayItsRate) {
  EXPECT_EQ(network_limit(node("n0", {fabric("100 Gb/sec (4X EDR)"), fabric("")})), std::nullopt);
  EXPECT_EQ(network_limit(node("n0", {fabric("100 Gb/sec (4X EDR)"), fabric("", "DOWN")})), 12.5);
}

TEST(BusLimit, InsideANodeIsWhatTheSlowestDeviceCanSend) {
  std::vector<Endpoint> devices = ranks(1, 4, 450);
  EXPECT_EQ(by_ring(Collective::all_reduce, devices, {}), 450.0);
  devices[2].link_limit = 425;  // one NVLink of 18 is lost
  EXPECT_EQ(by_ring(Collective::alltoall, devices, {}), 425.0);
  EXPECT_EQ(by_ring(Collective::all_reduce, ranks(1, 2, {}, 63), {}), 63.0) << "without NVLink, by PCIe";
  devices[1].link_limit.reset();
  EXPECT_EQ(by_ring(Collective::all_reduce, devices, {}), std::nullopt) << "what is not known limits nothing";
}

TEST(BusLimit, BetweenNodesIsWhatTheirNetworkCarries) {
  const std::vector<AdapterPort> eight(8, fabric("100 Gb/sec (4X EDR)"));
  const std::vector<NodeFacts> nodes{node("n0", eight), node("n1", eight)};
  const auto sixteen = ranks(2, 8, 300);
  EXPECT_EQ(by_ring(Collective::all_reduce, sixteen, nodes), 100.0) << "8 × 12.5";
  EXPECT_EQ(by_ring(Collective::sendrecv, sixteen, nodes), 100.0);
  EXPECT_NEAR(*by_ring(Collective::alltoall, sixteen, nodes), 100.0 / 8 * 15 / 8, 1e-9)
      << "each of 8 ranks sends 8 of 15 parts away";
  EXPECT_NEAR(*by_ring(Collective::gather, sixteen, nodes), 100.0 * 15 / 8, 1e-9);
  EXPECT_EQ(by_ring(Collective::gather, ranks(2, 8, 150), nodes), 150.0) << "the root's links are slower";
  EXPECT_EQ(by_ring(Collective::all_reduce, ranks(2, 8, {}), nodes), 100.0) << "host memory has no link of its own";
  EXPECT_EQ(by_ring(Collective::all_reduce, sixteen, {nodes.front()}), std::nullopt);
  EXPECT_EQ(by_ring(Collective::all_reduce, sixteen, {nodes.front(), node("n1", {eight.front()})}), 12.5)
      << "the node with the fewest";
}

TEST(BusLimit, BetweenNodesThatAreOneMachineIsThatOfNoPort) {
  std::vector<NodeFacts> nodes{node("n0", {ethernet("1000 Mb/s")}), node("n1", {ethernet("1000 Mb/s")})};
  nodes[0].boot = "6f1d", nodes[1].boot = "90ab";
  EXPECT_EQ(by_any({.collective = Collective::broadcast}, ranks(2, 1, {}), nodes), 0.125);
  nodes[1].boot = nodes[0].boot;
  EXPECT_EQ(by_any({.collective = Collective::broadcast}, ranks(2, 1, {}), nodes), std::nullopt)
      << "by loopback it is more than a port carries";
}

TEST(BusLimit, OfWhatIsNoRingIsWhatMustPassTheNetworkAtLeast) {
  const std::vector<AdapterPort> eight(8, fabric("100 Gb/sec (4X EDR)"));
  const std::vector<NodeFacts> nodes{node("n0", eight), node("n1", eight), node("n2", eight), node("n3", eight)};
  const auto sixteen = ranks(2, 8, 300);
  EXPECT_NEAR(*by_any({.collective = Collective::all_reduce}, sixteen, nodes), 187.5, 1e-9)
      << "by tree, 118.7 GB/s of busbw were measured over 100 GB/s of ports "
         "(config/references/published/002_a100_roce.txt)";
  EXPECT_NEAR(*by_any({.collective = Collective::all_reduce}, ranks(4, 8, 300), nodes), 100 * 31.0 / 32 * 4 / 3, 1e-9)
      << "3 ways to where an element is added up and 3 from there";
  EXPECT_NEAR(*by_any({.collective = Collective::all_gather}, sixteen, nodes), 187.5, 1e-9) << "8 of 16 parts arrive";
  EXPECT_NEAR(*by_any({.collective = Collective::reduce_scatter}, sixteen, nodes), 187.5, 1e-9);
  EXPECT_EQ(by_any({.collective = Collective::broadcast}, sixteen, nodes), 100.0);
  EXPECT_EQ(by_any({.collective = Collective::all_reduce}, ranks(1, 8, 300), nodes), 300.0);
  EXPECT_EQ(by_any({.collective = Collective::all_gather}, ranks(1, 8, 300), nodes), 300.0);
}

TEST(BusLimit, OfARootIsWhatEachNodeHasToDoWithIt) {
  const NodeFacts wide = node("n0", {8, fabric("100 Gb/sec (4X EDR)")}), narrow = node("n1", {fabric("100 Gb/sec")});
  auto nine = ranks(1, 9, 300);
  nine.back().node = "n1";
  for (const Collective collective : {Collective::gather, Collective::scatter}) {
    EXPECT_NEAR(*by_any({.collective = collective}, nine, {wide, narrow}), 100.0, 1e-9) << "1 of 8 parts crosses";
    EXPECT_NEAR(*by_any({.collective = collective, .root = 8}, nine, {wide, narrow}), 12.5, 1e-9) << "all 8 do";
  }
  auto devices = ranks(1, 4, 450);
  devices[3].link_limit = 100;
  EXPECT_EQ(by_any({.collective = Collective::gather}, devices, {}), 300.0) << "it has a third of what arrives";
  EXPECT_EQ(by_any({.collective = Collective::gather, .root = 3}, devices, {}), 100.0);
}

TEST(BusLimit, OfSendsToTheNextRankIsOfThoseThatLeaveTheNode) {
  const std::vector<AdapterPort> eight(8, fabric("100 Gb/sec (4X EDR)"));
  const std::vector<NodeFacts> nodes{node("n0", eight), node("n1", eight)};
  auto in_turn = ranks(2, 8, 300);
  for (std::size_t r = 0; r < in_turn.size(); ++r) in_turn[r].node = r % 2 == 0 ? "n0" : "n1";
  EXPECT_EQ(by_any({.collective = Collective::sendrecv}, in_turn, nodes), 12.5) << "8 ranks send to the other node";
}

TEST(BusLimit, IsNotKnownWhereTheRouteIsNot) {
  EXPECT_EQ(bus_limit({}, Route::unknown, ranks(1, 4, 450), {}), std::nullopt);
  EXPECT_EQ(route_of(Engine::nccl, Collective::all_reduce, ""), Route::unknown) << "it may be NVLS";
  EXPECT_EQ(route_of(Engine::nccl, Collective::all_reduce, "NVLS, SIMPLE"), Route::unknown);
  EXPECT_EQ(route_of(Engine::nccl, Collective::all_reduce, "RING, LL, channels 0..3"), Route::ring);
  EXPECT_EQ(route_of(Engine::nccl, Collective::all_reduce, "0, 2"), Route::any) << "a tree";
  EXPECT_EQ(route_of(Engine::nccl, Collective::alltoall, ""), Route::any) << "sends";
  EXPECT_EQ(route_of(Engine::mpi, Collective::all_reduce, ""), Route::any);
}

TEST(BusLimit, DoesNotHoldWhereTheNetworkAddsUp) {
  for (const char* in_network : {"NVLS, SIMPLE, channels 0..23", "NVLS_TREE, SIMPLE", "COLLNET_DIRECT, SIMPLE", "4, 2"})
    EXPECT_TRUE(reduces_in_network(in_network)) << in_network;
  for (const char* by_links : {"RING, LL, channels 0..3", "TREE, SIMPLE", "PAT, SIMPLE", "1, 2", ""})
    EXPECT_FALSE(reduces_in_network(by_links)) << by_links;
}

}  // namespace
}  // namespace linkmatrix
