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

TEST(BusLimit, InsideANodeIsWhatTheSlowestDeviceCanSend) {
  std::vector<Endpoint> devices = ranks(1, 4, 450);
  EXPECT_EQ(bus_limit(Collective::all_reduce, devices, {}), 450.0);
  devices[2].link_limit = 425;  // one NVLink of 18 is lost
  EXPECT_EQ(bus_limit(Collective::alltoall, devices, {}), 425.0);
  EXPECT_EQ(bus_limit(Collective::all_reduce, ranks(1, 2, {}, 63), {}), 63.0) << "without NVLink, by PCIe";
  devices[1].link_limit.reset();
  EXPECT_EQ(bus_limit(Collective::all_reduce, devices, {}), std::nullopt) << "what is not known limits nothing";
}

TEST(BusLimit, BetweenNodesIsWhatTheirNetworkCarries) {
  const std::vector<AdapterPort> eight(8, fabric("100 Gb/sec (4X EDR)"));
  const std::vector<NodeFacts> nodes{node("n0", eight), node("n1", eight)};
  const auto sixteen = ranks(2, 8, 300);
  EXPECT_EQ(bus_limit(Collective::all_reduce, sixteen, nodes), 100.0) << "8 × 12.5";
  EXPECT_EQ(bus_limit(Collective::sendrecv, sixteen, nodes), 100.0);
  EXPECT_NEAR(*bus_limit(Collective::alltoall, sixteen, nodes), 100.0 / 8 * 15 / 8, 1e-9)
      << "each of 8 ranks sends 8 of 15 parts away";
  EXPECT_NEAR(*bus_limit(Collective::gather, sixteen, nodes), 100.0 * 15 / 8, 1e-9);
  EXPECT_EQ(bus_limit(Collective::gather, ranks(2, 8, 150), nodes), 150.0) << "the root's links are slower";
  EXPECT_EQ(bus_limit(Collective::all_reduce, ranks(2, 8, {}), nodes), 100.0) << "host memory has no link of its own";
  EXPECT_EQ(bus_limit(Collective::all_reduce, sixteen, {nodes.front()}), std::nullopt);
  EXPECT_EQ(bus_limit(Collective::all_reduce, sixteen, {nodes.front(), node("n1", {eight.front()})}), 12.5)
      << "the node with the fewest";
}

TEST(BusLimit, DoesNotHoldWhereTheNetworkAddsUp) {
  for (const char* in_network : {"NVLS, SIMPLE, channels 0..23", "NVLS_TREE, SIMPLE", "COLLNET_DIRECT, SIMPLE", "4, 2"})
    EXPECT_TRUE(adds_in_network(in_network)) << in_network;
  for (const char* by_links : {"RING, LL, channels 0..3", "TREE, SIMPLE", "PAT, SIMPLE", "1, 2", ""})
    EXPECT_FALSE(adds_in_network(by_links)) << by_links;
}

}  // namespace
}  // namespace linkmatrix
