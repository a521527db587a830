#include <gtest/gtest.h>

#include "core/error.hpp"
#include "ranks/replies.hpp"

namespace linkmatrix::ranks {
namespace {

NodeFacts a_node() {
  NodeFacts node{"n3", "0123", "", "HGX H200", "6.1", "b00t", "2.1b", "X13", {}};
  for (const int numa : {-1, 1}) {
    AdapterPort& port = node.adapters.emplace_back();
    port.name = "mlx5_" + std::to_string(numa);
    port.part = {{"guid", "b8ce:f603"}, {"firmware", "28.39"}};
    port.place = {{"port", "1"}};
    port.state = "ACTIVE";
    port.rate = "400 Gb/sec (4X NDR)";
    port.numa = numa;
    port.physical_state = "LinkUp";
    port.interfaces = {{{"name", "ib0"}, {"state", "up"}}, {{"name", "ib1"}}};
    port.pcie = {{"width", "16"}};
    port.gpus = {{"0000:1b:00.0", "PIX", 3, true}, {"0000:43:00.0", "SYS", 0, false}};
    port.counters = {{{"symbol_error", 3}}, {{"np_cnp_sent", 1e15}, {"port_xmit_wait", 0}}};
  }
  return node;
}

TEST(NodeMessage, BringsWhatANodeSaysOfItself) {
  const NodeFacts sent = a_node(), node = unpack<NodeFacts>(pack(sent));
  EXPECT_EQ(
      node.name + "|" + node.machine + "|" + node.serial + "|" + node.product + "|" + node.kernel + "|" + node.boot,
      "n3|0123||HGX H200|6.1|b00t");
  EXPECT_EQ(node.bios + "|" + node.board, "2.1b|X13");
  ASSERT_EQ(node.adapters.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    const AdapterPort &from = sent.adapters[k], &to = node.adapters[k];
    EXPECT_EQ(to.name, from.name);
    EXPECT_EQ(to.part, from.part);
    EXPECT_EQ(to.place, from.place);
    EXPECT_EQ(to.state + to.rate + to.link_layer, from.state + from.rate + from.link_layer);
    EXPECT_EQ(to.numa, from.numa);
    EXPECT_EQ(to.physical_state, from.physical_state);
    EXPECT_EQ(to.interfaces, from.interfaces);
    EXPECT_EQ(to.pcie, from.pcie);
    EXPECT_EQ(to.counters.errors, from.counters.errors);
    EXPECT_EQ(to.counters.congestion, from.counters.congestion);
    ASSERT_EQ(to.gpus.size(), from.gpus.size());
    for (std::size_t g = 0; g < from.gpus.size(); ++g) {
      EXPECT_EQ(to.gpus[g].pci + to.gpus[g].link_class, from.gpus[g].pci + from.gpus[g].link_class);
      EXPECT_EQ(to.gpus[g].bridges, from.gpus[g].bridges);
      EXPECT_EQ(to.gpus[g].nearest, from.gpus[g].nearest);
    }
  }
}

TEST(NodeMessage, RefusesBytesThatAreNotWhole) {
  const std::vector<std::byte> whole = pack(a_node());
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_THROW(unpack<NodeFacts>(std::span(whole).first(bytes)), DeviceError) << bytes;
  std::vector<std::byte> more = whole;
  more.push_back(std::byte{0});
  EXPECT_THROW(unpack<NodeFacts>(more), DeviceError);
}

}  // namespace
}  // namespace linkmatrix::ranks
