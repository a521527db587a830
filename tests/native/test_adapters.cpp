#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/record.hpp"
#include "device/host/adapter_counters.hpp"
#include "device/host/adapters.hpp"
#include "own_folder.hpp"
#include "sysfs_tree.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// Adapters of the machines described in tests/data/adapters.
class AdaptersTest : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(root_); }

  std::vector<AdapterPort> ports_of(const std::string& machine) {
    fs::remove_all(root_);
    SysfsTree(root_).add(LINKMATRIX_NATIVE_TESTS "/../data/adapters/" + machine + ".txt");
    return adapter_ports(root_);
  }
  fs::path root_ = own_folder("adapters");
};

/// "PXB 1b", for each GPU that is nearest.
std::string nearest(const AdapterPort& port) {
  std::string text;
  for (const GpuPath& gpu : port.gpus)
    if (gpu.nearest) text += (text.empty() ? "" : ", ") + gpu.link_class + " " + gpu.pci.substr(5, 2);
  return text;
}

std::string said(const FactTexts& facts) {
  std::string text;
  for (const auto& [name, fact] : facts) text += (text.empty() ? "" : " ") + name + "=" + fact;
  return text;
}

std::string interfaces(const AdapterPort& port) {
  std::string text;
  for (const FactTexts& interface : port.interfaces) text += (text.empty() ? "" : ", ") + said(interface);
  return text;
}

std::map<std::string, AdapterPort> by_name(const std::vector<AdapterPort>& ports) {
  std::map<std::string, AdapterPort> found;
  for (const AdapterPort& port : ports) found[port.name] = port;
  return found;
}

TEST_F(AdaptersTest, OfANodeWithEightGpusAreEachNearestToTheGpuBehindTheSameSwitch) {
  const auto ports = ports_of("dgx_h100_ib");
  const auto found = by_name(ports);
  ASSERT_EQ(ports.size(), 13u) << "8 for messages, 2 of 2 ports for storage, 1 of the board";
  const std::map<std::string, std::string> expected{{"mlx5_0", "PXB 1b"},  {"mlx5_3", "PXB 43"}, {"mlx5_4", "PXB 52"},
                                                    {"mlx5_5", "PXB 61"},  {"mlx5_6", "PXB 9d"}, {"mlx5_9", "PXB c3"},
                                                    {"mlx5_10", "PXB d1"}, {"mlx5_11", "PXB df"}};
  for (const auto& [name, gpu] : expected) EXPECT_EQ(nearest(found.at(name)), gpu) << name;
  EXPECT_EQ(nearest(found.at("mlx5_1")), "NODE 1b, NODE 43, NODE 52, NODE 61") << "storage shares no bridge with a GPU";
  EXPECT_EQ(nearest(found.at("eno1")), "NODE 1b, NODE 43, NODE 52, NODE 61");
  EXPECT_EQ(found.at("mlx5_0").gpus.size(), 8u) << "and none for the picture of the console";
  EXPECT_EQ(found.at("mlx5_0").gpus.back().link_class, "SYS");
  EXPECT_EQ(found.at("mlx5_0").gpus.front().bridges, 2) << "the root's port and the switch";
}

TEST_F(AdaptersTest, SayStateRateInterfaceFirmwareAndTheirPciLinkNowAndAtMost) {
  const auto found = by_name(ports_of("dgx_h100_ib"));
  const AdapterPort& narrow = found.at("mlx5_6");
  EXPECT_EQ(narrow.state + " " + narrow.physical_state + " " + narrow.rate + " " + narrow.link_layer,
            "ACTIVE LinkUp 400 Gb/sec (4X NDR) InfiniBand");
  EXPECT_EQ(interfaces(narrow), "name=ibp154s0 state=down") << "no address of IP, which InfiniBand does not need";
  EXPECT_EQ(said(narrow.pcie),
            "speed=32.0 GT/s PCIe speed_at_most=32.0 GT/s "
            "PCIe width=8 width_at_most=16");
  EXPECT_EQ(narrow.part.at("firmware"), "28.39.1002");
  EXPECT_EQ(said(narrow.place), "pci=0000:9a:00.0 port=1");
  EXPECT_EQ(narrow.numa, 1);
  EXPECT_EQ(found.at("mlx5_2").state + " " + found.at("mlx5_2").physical_state, "DOWN Polling");
}

TEST_F(AdaptersTest, OfRoceHaveTheInterfaceThatTheirAddressesAreOf) {
  const auto ports = ports_of("a100x8_roce");
  ASSERT_EQ(ports.size(), 8u);
  const std::vector<std::string> names{"enp80s0f0",  "enp80s0f1",  "enp106s0f0", "enp106s0f1",
                                       "enp137s0f0", "enp137s0f1", "enp234s0f0", "enp234s0f1"};
  for (std::size_t k = 0; k < names.size(); ++k) {
    EXPECT_EQ(ports[k].name, "mlx5_" + std::to_string(k));
    EXPECT_EQ(interfaces(ports[k]), "name=" + names[k] + " state=" + (k == 7 ? "down" : "up"));
    EXPECT_EQ(ports[k].link_layer, "Ethernet");
  }
  EXPECT_EQ(nearest(ports[0]), "PIX 51, PIX 52") << "two behind the switch of the adapter";
  EXPECT_EQ(ports[7].state, "DOWN");
}

TEST_F(AdaptersTest, OfAnotherMakerAreFoundToo) {
  const auto ports = ports_of("ec2_p5_efa");
  ASSERT_EQ(ports.size(), 8u);
  const auto found = by_name(ports);
  EXPECT_EQ(nearest(found.at("rdmap79s0")), "PIX 4f");
  EXPECT_EQ(nearest(found.at("rdmap99s0")), "PIX 60");
  EXPECT_EQ(found.at("rdmap79s0").state + found.at("rdmap79s0").rate, "") << "unknown";
  EXPECT_EQ(said(found.at("rdmap79s0").pcie), "speed=16.0 GT/s PCIe width=8");
}

TEST_F(AdaptersTest, OfABondSayWhichOneTheyAreAPartOf) {
  auto found = by_name(ports_of("mi250x8_bond"));
  ASSERT_EQ(found.size(), 2u) << "the bond itself is no adapter";
  EXPECT_EQ(interfaces(found.at("eno1")), "bond=bond0 name=eno1 state=up");
  EXPECT_EQ(nearest(found.at("eno1")), "NODE c1, NODE c6") << "GPUs of another maker";
  found = by_name(ports_of("roce_bond"));
  ASSERT_EQ(found.size(), 2u) << "one RDMA device for both functions, and the "
                                 "interface of the other one";
  EXPECT_EQ(interfaces(found.at("mlx5_bond_0")), "name=bond0 state=up, bond=bond0 name=ens1f0 state=up");
  EXPECT_EQ(interfaces(found.at("ens1f1")), "bond=bond0 name=ens1f1 state=up");
  EXPECT_EQ(nearest(found.at("mlx5_bond_0")), "") << "the kernel does not say where either is";
  EXPECT_EQ(found.at("mlx5_bond_0").gpus.front().link_class, "");
}

TEST_F(AdaptersTest, OfTwoPortsAreTwoAndOlderDriversNumberThemInAnotherFile) {
  const auto ports = ports_of("workstation");
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].place.at("port") + " " + interfaces(ports[0]), "1 name=ib0 state=up");
  EXPECT_EQ(ports[1].place.at("port") + " " + interfaces(ports[1]), "2 name=ib1 state=down");
  EXPECT_EQ(nearest(ports[0]), "PHB 01");
}

TEST_F(AdaptersTest, StandInTheRecordWithAllOfIt) {
  Record record;
  NodeFacts& node = record.nodes.emplace_back();
  node.name = "n1";
  for (const AdapterPort& port : ports_of("dgx_h100_ib"))
    if (port.name == "mlx5_6") node.adapters.push_back(port);
  const std::string text = to_json(record);
  for (const char* part :
       {R"("adapters":[{"name":"mlx5_6","state":"ACTIVE","physical_state":"LinkUp","rate":"400 Gb/sec (4X NDR))",
        R"("interfaces":[{"name":"ibp154s0","state":"down"}])",
        R"("pcie":{"speed":"32.0 GT/s PCIe","speed_at_most":"32.0 GT/s PCIe","width":"8","width_at_most":"16"})",
        R"({"pci":"0000:9d:00.0","link_class":"PXB","bridges":2,"nearest":true})",
        R"({"pci":"0000:1b:00.0","link_class":"SYS","bridges":0,"nearest":false})",
        R"("place":{"node":"n1","pci":"0000:9a:00.0","port":"1"})"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}

/// Returns a node with an adapter of two ports and an interface. Each counter is `text`.
NodeFacts counted(const fs::path& root, const std::string& text, const std::string& boot = "b1") {
  fs::remove_all(root);
  const std::string errors = "; ports/1/counters/symbol_error=" + text + "; ports/1/counters/port_xmit_wait=" + text +
                             "; ports/1/hw_counters/out_of_sequence=" + text +
                             "; ports/1/hw_counters/np_cnp_sent=" + text + "; ports/1/counters/port_rcv_data=" + text;
  const fs::path file = root.string() + ".txt";
  std::ofstream(file) << "pci; pci0000:00/0000:00:03.0; class=0x020700\npci; pci0000:00/0000:00:04.0; class=0x020000\n"
                      << "ib; mlx5_0; 0000:00:03.0" << errors << "; ports/2/counters/link_downed=" << text
                      << "\nnet; eth0; 0000:00:04.0; statistics/rx_crc_errors=" << text
                      << "; statistics/rx_dropped=" << text << "; carrier_down_count=" << text << '\n';
  SysfsTree(root).add(file);
  fs::remove(file);
  NodeFacts node;
  node.name = "n1", node.boot = boot;
  node.adapters = adapter_ports(root);
  return node;
}

std::string rises(const std::vector<Health>& health) {
  std::ostringstream text;
  for (const Health& one : health) {
    text << one.label << ':';
    for (const auto& item : one.counters) text << ' ' << item.name << ' ' << *item.before << '-' << *item.after;
    for (const auto& item : one.readings) text << " (" << item.name << ')';
    text << '\n';
  }
  return text.str();
}

TEST_F(AdaptersTest, SayWhichErrorsTheyCountedMeanwhileAndWhatIsCongestionAlone) {
  const std::vector before{counted(root_, "3")}, after{counted(root_, "5")};
  EXPECT_EQ(rises(adapter_health(before, after)),
            "mlx5_0: out_of_sequence 3-5 symbol_error 3-5 (np_cnp_sent) (port_xmit_wait)\n"
            "mlx5_0:2: link_downed 3-5\n"
            "eth0: carrier_down_count 3-5 rx_crc_errors 3-5 (rx_dropped)\n");
  EXPECT_EQ(rises(adapter_health(before, before)), "") << "what did not rise says nothing";
  EXPECT_EQ(rises(adapter_health(after, before)), "") << "its driver was loaded anew";
  EXPECT_EQ(rises(adapter_health(before, {counted(root_, "5", "b2")})), "") << "it was started anew";
  EXPECT_EQ(rises(adapter_health(before, {counted(root_, "N/A (no PMA)")})), "");
  const std::vector two{after[0], NodeFacts{}};
  EXPECT_EQ(rises(adapter_health(before, two)).substr(0, 10), "n1:mlx5_0:") << "of several nodes by their names";
}

TEST(Ethtool, TellsErrorsOfALinkFromSignsOfCongestion) {
  const AdapterCounters found = link_counters({{"rx_prio3_pause", 1},
                                               {"rx_prio3_pause_duration", 2},
                                               {"tx_pause_ctrl_phy", 3},
                                               {"rx_discards_phy", 4},
                                               {"link_down_events_phy", 5},
                                               {"rx0_packets", 6}});
  EXPECT_EQ(found.errors, (std::map<std::string, double>{{"link_down_events_phy", 5}, {"rx_discards_phy", 4}}));
  EXPECT_EQ(found.congestion, (std::map<std::string, double>{{"rx_prio3_pause", 1}, {"tx_pause_ctrl_phy", 3}}));
}

TEST(Ethtool, SaysNothingOfWhatIsNotThereOrCountsNothing) {
  for (const char* name : {"", "nosuch0", "a name that is too long for an interface", "lo"})
    EXPECT_TRUE(ethtool_statistics(name).empty()) << name;
}

TEST_F(AdaptersTest, OfRoceCountWhatTheirInterfaceDoesToo) {
  ports_of("a100x8_roce");
  const fs::path interface = root_ / "sys/class/net/enp80s0f0";
  fs::create_directories(interface / "statistics");
  std::ofstream(interface / "statistics/rx_crc_errors") << "7\n";
  EXPECT_EQ(adapter_ports(root_)[0].counters.errors.at("rx_crc_errors"), 7);
}

TEST_F(AdaptersTest, AreNoneWhereThereIsNone) {
  EXPECT_TRUE(ports_of("h200x4_vm").empty());
  EXPECT_TRUE(fabric_ports(root_).empty());
  fs::remove_all(root_);
  EXPECT_TRUE(adapter_ports(root_).empty());
}

TEST_F(AdaptersTest, AreNamedToTheDevicesThatTheyAreNearestTo) {
  std::vector<Endpoint> devices(3);
  devices[0].pci = "0000:60:00.0", devices[0].node = "n1", devices[0].nics = {"mlx5_0"};
  devices[1].pci = "0000:61:00.0", devices[1].node = "n1";
  devices[2].pci = "0000:60:00.0", devices[2].node = "n2";
  NodeFacts node;
  node.name = "n1";
  node.adapters = ports_of("ec2_p5_efa");
  name_nearest_adapters(devices, {node});
  EXPECT_EQ(devices[0].nics, (std::vector<std::string>{"rdmap96s0", "rdmap97s0", "rdmap98s0", "rdmap99s0"}));
  EXPECT_TRUE(devices[1].nics.empty()) << "it is no GPU of that node";
  EXPECT_TRUE(devices[2].nics.empty()) << "nothing is known of that node";
}

}  // namespace
}  // namespace linkmatrix
