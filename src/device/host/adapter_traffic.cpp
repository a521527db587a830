#include "device/host/adapter_traffic.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/units.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr double word = 4;                                       // port_xmit_data counts words of 4 bytes
constexpr const char* connected = "01";                          // TCP_ESTABLISHED in /proc/net/tcp
constexpr const char* mapped_ipv4 = "0000000000000000FFFF0000";  // prefix of IPv4 addresses in /proc/net/tcp6
constexpr int most_lower = 4;                                    // maximum stack of interfaces: VLAN, bridge, bond

/// Returns an address in the format of /proc/net/tcp: words of 32 bits in the machine's byte order, in hexadecimal.
std::string written(const void* address, std::size_t bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t part = 0;
    std::memcpy(&part, static_cast<const char*>(address) + at, sizeof part);
    text += formatted("%08X", part);
  }
  return text;
}

/// Removes the port: "0A4D4D01:A2C4" → "0A4D4D01".
std::string address_of(const std::string& end) {
  const std::string address = end.substr(0, end.find(':'));
  return address.starts_with(mapped_ipv4) ? address.substr(std::strlen(mapped_ipv4)) : address;
}

/// Returns the targets of the open files of this process: "socket:[4711]", "/dev/infiniband/uverbs0".
std::set<std::string> open_files(const fs::path& proc) {
  std::set<std::string> found;
  for (const fs::path& file : entries(proc / "self/fd")) {
    std::error_code failure;
    if (const fs::path target = fs::read_symlink(file, failure); !failure) found.insert(target.string());
  }
  return found;
}

/// Returns the interfaces of this process's TCP connections to other machines.
std::set<std::string> connected_interfaces(const fs::path& proc, const std::map<std::string, std::string>& addresses,
                                           const std::set<std::string>& files) {
  std::set<std::string> found;
  for (const char* name : {"self/net/tcp", "self/net/tcp6"}) {
    std::ifstream table(proc / name);
    for (std::string line; std::getline(table, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >> inode;
      if (state != connected || !files.contains("socket:[" + inode + "]")) continue;
      const auto interface = addresses.find(address_of(local));
      if (interface != addresses.end() && !addresses.contains(address_of(remote))) found.insert(interface->second);
    }
  }
  return found;
}

/// Returns the interface below a VLAN or bridge. Returns the interface itself if it has no lower interface, or several.
std::string lowest(const fs::path& sys, std::string interface) {
  for (int depth = 0; depth < most_lower; ++depth) {
    const std::vector<std::string> lower = lower_interfaces(sys / "class/net" / interface);
    if (lower.size() != 1) break;
    interface = lower.front();
  }
  return interface;
}

/// {interface: bytes sent and received}, of the namespace that this process is in, which /sys need not be of.
std::map<std::string, std::pair<double, double>> counted_by_interfaces(const fs::path& proc) {
  std::map<std::string, std::pair<double, double>> found;
  std::ifstream table(proc / "self/net/dev");
  for (std::string line; std::getline(table, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::istringstream name(line.substr(0, colon)), numbers(line.substr(colon + 1));
    std::string interface;
    std::array<double, 9> values{};  // eight columns of received data, then the first of sent data
    name >> interface;
    for (double& value : values) numbers >> value;
    if (numbers) found[interface] = {values.back(), values.front()};
  }
  return found;
}

/// Returns the rate of an interface in bytes per second; 0 for virtual interfaces, which report an arbitrary 10 Gb/s.
double rate_of_interface(const fs::path& interface) {
  std::error_code failure;
  const auto megabits = number_of(interface / "speed");
  return fs::exists(interface / "device", failure) && megabits && *megabits > 0 ? *megabits * 1e6 / 8 : 0;
}

/// Parses "400 Gb/sec (4X NDR)".
double rate_of_port(const fs::path& port) {
  double gigabits = 0;
  std::istringstream words(first_line(port / "rate"));
  return words >> gigabits && gigabits > 0 ? gigabits * 1e9 / 8 : 0;
}

struct FabricPort {
  AdapterTraffic traffic;
  std::set<std::string> interfaces;
  bool counts_interfaces;  ///< whether the port's counters include its interface: true for InfiniBand, not for RoCE
};

/// Returns whether this process has opened an RDMA adapter.
bool is_open(const fs::path& sys, const std::string& adapter, const std::set<std::string>& files) {
  for (const fs::path& verbs : entries(sys / "class/infiniband_verbs"))
    if (first_line(verbs / "ibdev") == adapter && files.contains("/dev/infiniband/" + verbs.filename().string()))
      return true;
  return adapter.starts_with("hfi1_") && files.contains("/dev/" + adapter);
}

std::vector<FabricPort> fabric_traffic(const fs::path& sys, const std::set<std::string>& files) {
  std::vector<FabricPort> ports;
  for (const fs::path& adapter : entries(sys / "class/infiniband")) {
    const std::string name = adapter.filename().string();
    const bool used = is_open(sys, name, files);
    for (const fs::path& port : entries(adapter / "ports")) {
      const auto sent = number_of(port / "counters/port_xmit_data"), got = number_of(port / "counters/port_rcv_data");
      if (!sent || !got || !(*sent >= 0) || !(*got >= 0)) continue;
      const std::string number = port.filename().string();
      FabricPort& one = ports.emplace_back();
      one.traffic = {name + (number == "1" ? "" : ":" + number), word * *sent, word * *got, used, rate_of_port(port)};
      one.counts_interfaces = first_line(port / "link_layer") == "InfiniBand";
      for (const fs::path& of_address : entries(port / "gid_attrs/ndevs"))
        if (const std::string interface = first_line(of_address); !interface.empty()) one.interfaces.insert(interface);
    }
  }
  return ports;
}

}  // namespace

std::map<std::string, std::string> interface_addresses() {
  std::map<std::string, std::string> found;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(all, freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    if (one->ifa_addr->sa_family == AF_INET)
      found[written(&reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, sizeof(in_addr))] = one->ifa_name;
    if (one->ifa_addr->sa_family == AF_INET6)
      found[written(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, sizeof(in6_addr))] =
          one->ifa_name;
  }
  return found;
}

std::vector<AdapterTraffic> adapter_traffic(const std::map<std::string, std::string>& addresses, const fs::path& root) {
  const fs::path proc = root / "proc", sys = root / "sys";
  const std::set<std::string> files = open_files(proc), connections = connected_interfaces(proc, addresses, files);
  const auto counted = counted_by_interfaces(proc);
  std::vector<FabricPort> ports = fabric_traffic(sys, files);
  std::map<std::string, bool> interfaces;  // interface → whether this process uses it
  for (const auto& [address, name] : addresses)
    interfaces[lowest(sys, name)] = interfaces[lowest(sys, name)] || connections.contains(name);
  std::vector<AdapterTraffic> found;
  for (const auto& [name, used] : interfaces) {
    const auto port = std::ranges::find_if(ports, [&n = name](const auto& one) { return one.interfaces.contains(n); });
    if (port != ports.end() && port->counts_interfaces)
      port->traffic.used = port->traffic.used || used;
    else if (const auto bytes = counted.find(name); bytes != counted.end())
      found.push_back(
          {name, bytes->second.first, bytes->second.second, used, rate_of_interface(sys / "class/net" / name)});
  }
  for (FabricPort& port : ports) found.push_back(std::move(port.traffic));
  return found;
}

}  // namespace linkmatrix
