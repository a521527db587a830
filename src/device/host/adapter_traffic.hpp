#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace linkmatrix {

/// Byte counters of a network adapter, for all processes together.
struct AdapterTraffic {
  std::string name;               ///< "eth0", "mlx5_0"; "mlx5_0:2" for port 2
  double sent = 0, received = 0;  ///< bytes
  bool used = false;              ///< whether this process has connections over the adapter, or has opened its device
  double rate = 0;                ///< bytes per second and direction; 0: unknown
};

/// Returns {local address: interface}, with addresses in the format of /proc/net/tcp, without loopback.
std::map<std::string, std::string> interface_addresses();

/// Returns the byte counters of each RDMA port and of each interface in `addresses`, from files below `root`. An
/// interface on top of a single other interface (VLAN, bridge) is replaced by that interface. This process uses an
/// interface if it has a TCP connection to another machine there, and an RDMA adapter if it has opened its device file.
std::vector<AdapterTraffic> adapter_traffic(const std::map<std::string, std::string>& addresses,
                                            const std::filesystem::path& root = "/");

}  // namespace linkmatrix
