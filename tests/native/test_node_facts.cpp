#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "device/host/adapters.hpp"
#include "device/host/host_facts.hpp"
#include "own_folder.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// A machine's files, as the kernel has them, below a folder of its own.
class NodeFactsTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  void link(const std::string& name, const std::string& target) const {
    fs::create_directories((root_ / name).parent_path());
    fs::create_symlink(root_ / target, root_ / name);
  }
  fs::path root_ = own_folder("node_facts");
};

TEST_F(NodeFactsTest, AreEmptyWhereThereIsNothing) {
  const NodeFacts node = node_facts(root_);
  EXPECT_FALSE(node.name.empty());
  EXPECT_EQ(node.machine + node.serial + node.product + node.kernel + node.boot + node.bios + node.board, "");
  EXPECT_TRUE(node.adapters.empty());
}

TEST_F(NodeFactsTest, NameAnInterfaceWithoutPciThatReachesOtherMachinesAndStandsOnNoOther) {
  for (const char* name : {"eth0", "docker0", "eth0.7", "cali1", "tap0"})
    write("sys/class/net/" + std::string(name) + "/operstate", "up");
  write("sys/class/net/eth0/statistics/rx_dropped", "3");
  write("sys/class/net/eth0/speed", "10000");
  write("sys/class/net/docker0/bridge/forward_delay", "0");
  write("sys/class/net/tap0/tun_flags", "0x1002");
  write("sys/class/net/eth0.7/lower_eth0/operstate", "up");
  const std::string direct = "\t00000000\t0001\t0\t0\t0\t";
  std::string routes =
      "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth1\t00000000\t0102A8C0\t0003\t0\t0\t0";
  for (const char* name : {"eth0", "docker0", "eth0.7", "tap0"})
    routes += "\n" + std::string(name) + "\t004D610A" + direct + "00FFFFFF\t0\t0\t0";
  write("proc/self/net/route", routes + "\ncali1\t054D610A" + direct + "FFFFFFFF\t0\t0\t0");
  const NodeFacts node = node_facts(root_);
  ASSERT_EQ(node.adapters.size(), 1U);
  EXPECT_EQ(node.adapters[0].name, "eth0");
  EXPECT_EQ(node.adapters[0].counters.congestion.at("rx_dropped"), 3);
  EXPECT_TRUE(node.adapters[0].part.empty()) << "its address is new with each container";
  EXPECT_EQ(node.adapters[0].rate, "") << "what veth says of each limits nothing";
}

TEST_F(NodeFactsTest, NameTheMachineAndEachPortOnce) {
  write("etc/machine-id", "0123456789abcdef");
  write("sys/class/dmi/id/product_name", "HGX H200 ");
  write("sys/class/dmi/id/bios_version", "2.1b");
  write("sys/class/dmi/id/board_name", "X13DEG-OAD");
  write("proc/sys/kernel/osrelease", "6.1.0-18-amd64");
  write("sys/devices/pci0/0000:18:00.0/vendor", "0x15b3");
  write("sys/devices/pci0/0000:18:00.0/numa_node", "1");
  write("sys/devices/pci0/0000:5e:00.0/vendor", "0x8086");
  write("sys/class/infiniband/mlx5_0/node_guid", "b8ce:f603:0012:3456");
  write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002");
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)");
  write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
  link("sys/class/infiniband/mlx5_0/device", "sys/devices/pci0/0000:18:00.0");
  write("sys/class/net/ib0/operstate", "up");
  link("sys/class/net/ib0/device", "sys/devices/pci0/0000:18:00.0");
  write("sys/class/net/ens1f0/address", "3c:ec:ef:00:11:22");
  write("sys/class/net/ens1f0/speed", "25000");
  link("sys/class/net/ens1f0/device", "sys/devices/pci0/0000:5e:00.0");
  write("sys/class/net/lo/address", "00:00:00:00:00:00");
  write("sys/devices/virtio2/vendor", "0x1af4");
  link("sys/class/net/eth0/device", "sys/devices/virtio2");

  const NodeFacts node = node_facts(root_);
  EXPECT_EQ(node.machine, "0123456789abcdef");
  EXPECT_EQ(node.product, "HGX H200");
  EXPECT_EQ(node.kernel, "6.1.0-18-amd64");
  EXPECT_EQ(node.bios + ", " + node.board, "2.1b, X13DEG-OAD");
  ASSERT_EQ(node.adapters.size(), 2u) << "ib0 is mlx5_0, lo and eth0 are no PCI devices";
  const AdapterPort &first = node.adapters[0], &second = node.adapters[1];
  EXPECT_EQ(first.name, "mlx5_0");
  EXPECT_EQ(first.part, (FactTexts{{"guid", "b8ce:f603:0012:3456"}, {"firmware", "28.39.1002"}}));
  EXPECT_EQ(first.place, (FactTexts{{"pci", "0000:18:00.0"}, {"port", "1"}}));
  EXPECT_EQ(first.state + ", " + first.rate + ", " + first.link_layer, "ACTIVE, 400 Gb/sec (4X NDR), InfiniBand");
  EXPECT_EQ(first.numa, 1);
  EXPECT_EQ(second.name, "ens1f0");
  EXPECT_EQ(second.part, (FactTexts{{"mac", "3c:ec:ef:00:11:22"}}));
  EXPECT_EQ(second.rate, "25000 Mb/s");
  EXPECT_EQ(second.numa, -1);
  ASSERT_EQ(fabric_ports(root_).size(), 1u) << "what ranks are paired by";
  EXPECT_EQ(fabric_ports(root_).front().name, "mlx5_0");
}

TEST_F(NodeFactsTest, TellTheInterfacesOfABondApart) {
  for (const std::string number : {"0", "1"}) {
    const std::string interface = "sys/class/net/ens" + number, pci = "sys/devices/pci0/0000:5e:00." + number;
    write(pci + "/vendor", "0x8086");
    link(interface + "/device", pci);
    write(interface + "/address", "3c:ec:ef:00:11:20");
    write(interface + "/bonding_slave/perm_hwaddr", "3c:ec:ef:00:11:2" + number);
  }
  const NodeFacts node = node_facts(root_);
  ASSERT_EQ(node.adapters.size(), 2u);
  EXPECT_EQ(node.adapters[0].part.at("mac") + " " + node.adapters[1].part.at("mac"),
            "3c:ec:ef:00:11:20 3c:ec:ef:00:11:21");
}

}  // namespace
}  // namespace linkmatrix
