#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace linkmatrix {

/// Bytes that a network adapter has counted since some time, whoever moved them.
struct AdapterTraffic {
  std::string name;  ///< "eth0", "mlx5_0" or, where that is not the first, with its port: "mlx5_0:2"
  double sent = 0, received = 0;
  bool used = false;  ///< this process has connections by it, or has opened it
  double rate = 0;    ///< bytes a second that it can carry each way; 0: not known
};

/// The local addresses of this machine as /proc/net/tcp writes them → the network interface that has each; without
/// loopback.
std::map<std::string, std::string> interface_addresses();

/// What each network interface that has one of `addresses`, and each port of an RDMA adapter, has counted, as the
/// kernel says below `root`. An interface that lies on one other alone (a VLAN, a bridge) stands for that one, which
/// counts the traffic of its other users too. Used by this process are the interfaces of its TCP connections to other
/// machines, and the adapters whose device files it has open.
std::vector<AdapterTraffic> adapter_traffic(const std::map<std::string, std::string>& addresses,
                                            const std::filesystem::path& root = "/");

}  // namespace linkmatrix
