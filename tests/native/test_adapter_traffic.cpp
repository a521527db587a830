#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "device/host/adapter_traffic.hpp"
#include "own_folder.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr const char* here = "024D610A";          // 10.97.77.2
constexpr const char* storage_here = "0200A8C0";  // 192.168.0.2

/// A machine with a connection to 10.97.77.4 by eth0, as its kernel reports it.
class AdapterTrafficTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    write("proc/self/net/dev",
          "Inter-|   Receive |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes …\n"
          "    lo:  9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
          "  eth0: 100 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n  eth1:300 1 0 0 0 0 0 0 4000 1 0 0 0 0 0 0");
    connect(here, "044D610A", "01", 4711);
    fs::create_directories(root_ / "proc/self/fd");
    fs::create_symlink("socket:[4711]", root_ / "proc/self/fd/7");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  void connect(const std::string& from, const std::string& to, const std::string& state, int inode) const {
    write("proc/self/net/tcp",
          "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: " +
              from + ":A2C4 " + to + ":1389 " + state + " 00000000:00000000 00:00000000 00000000     0        0 " +
              std::to_string(inode) + " 1 0000000000000000 20 4 30 10 -1");
  }
  std::vector<std::string> used() const {
    std::vector<std::string> names;
    for (const AdapterTraffic& one : adapter_traffic(addresses_, root_))
      if (one.used) names.push_back(one.name);
    return names;
  }
  using Names = std::vector<std::string>;
  std::map<std::string, std::string> addresses_{{here, "eth0"}, {storage_here, "eth1"}};
  fs::path root_ = own_folder("adapter_traffic");
};

TEST_F(AdapterTrafficTest, IsThatOfTheInterfaceOfAConnectionToAnotherMachine) {
  const auto found = adapter_traffic(addresses_, root_);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "eth0");
  EXPECT_EQ(found[0].sent, 2000);
  EXPECT_EQ(found[0].received, 100);
  EXPECT_EQ(used(), Names{"eth0"});
}

TEST_F(AdapterTrafficTest, IsNotThatOfConnectionsOfOthersOrToThisMachineOrThatHaveEnded) {
  connect(here, "044D610A", "01", 4712);
  EXPECT_EQ(used(), Names{});
  connect(here, storage_here, "01", 4711);
  EXPECT_EQ(used(), Names{});
  connect(here, "044D610A", "06", 4711);
  EXPECT_EQ(used(), Names{});
}

TEST_F(AdapterTrafficTest, OfAVlanIsThatOfTheInterfaceBelow) {
  addresses_ = {{here, "eth0.7"}};
  fs::create_directories(root_ / "sys/class/net/eth0.7/lower_eth0");
  EXPECT_EQ(used(), Names{"eth0"});
}

TEST_F(AdapterTrafficTest, OfARdmaAdapterIsCountedInWordsAndItsInterfaceBelongsToIt) {
  write("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000");
  write("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "10");
  write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand");
  write("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0");
  const auto found = adapter_traffic(addresses_, root_);
  const auto port = std::ranges::find(found, "mlx5_0", &AdapterTraffic::name);
  ASSERT_NE(port, found.end());
  EXPECT_EQ(port->sent, 4000);
  EXPECT_EQ(port->received, 40);
  EXPECT_EQ(used(), Names{"mlx5_0"});
  write("proc/self/net/tcp", "");
  EXPECT_EQ(used(), Names{});
  write("sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0");
  fs::create_symlink("/dev/infiniband/uverbs3", root_ / "proc/self/fd/8");
  EXPECT_EQ(used(), Names{"mlx5_0"});
}

TEST_F(AdapterTrafficTest, IsNoneWhereTheKernelDoesNotTell) {
  fs::remove_all(root_ / "proc");
  EXPECT_TRUE(adapter_traffic(addresses_, root_).empty());
}

TEST(AdapterTraffic, OfThisMachineHasAddressesWithoutLoopback) {
  for (const auto& [address, interface] : interface_addresses()) {
    EXPECT_NE(interface, "lo");
    EXPECT_TRUE(address.size() == 8 || address.size() == 32) << address;
  }
}

}  // namespace
}  // namespace linkmatrix
