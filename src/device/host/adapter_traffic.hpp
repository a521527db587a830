#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace linkmatrix {

/// Byte counters of a network adapter, over all processes.
struct AdapterTraffic {
  std::string name;  ///< "eth0", "mlx5_0", or with a port other than the first, "mlx5_0:2"
  double sent = 0, received = 0;
  bool used = false;  ///< whether this process has connections over the adapter, or has opened it
  double rate = 0;    ///< rate in bytes per second and direction; 0: unknown
};

/// Returns the interface of each local address, in the format of /proc/net/tcp, without loopback.
std::map<std::string, std::string> interface_addresses();

/// Returns the byte counters of each interface with one of `addresses` and of each RDMA port, from files below `root`.
/// An interface on top of a single other one (VLAN, bridge) is replaced by that one. Used by this process are
/// interfaces of its TCP connections to other machines, and adapters whose device files it has open.
std::vector<AdapterTraffic> adapter_traffic(const std::map<std::string, std::string>& addresses,
                                            const std::filesystem::path& root = "/");

}  // namespace linkmatrix
