#include "device/host/adapters.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "device/host/adapter_counters.hpp"
#include "device/host/kernel_files.hpp"
#include "device/host/pci.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

const GpuPath nowhere;  // farther than every path

void put(FactTexts& facts, const std::string& name, const std::string& text) {
  if (!text.empty()) facts[name] = text;
}

void put_pci(AdapterPort& port, const fs::path& device) {
  const PciPlace place = pci_place(device);
  put(port.place, "pci", place.address());
  const std::string numa = first_line(device / "numa_node");
  port.numa = numa.empty() ? -1 : std::atoi(numa.c_str());
  for (const auto& [fact, file] : {std::pair{"speed", "current_link_speed"},
                                   {"width", "current_link_width"},
                                   {"speed_at_most", "max_link_speed"},
                                   {"width_at_most", "max_link_width"}})
    put(port.pcie, fact, first_line(device / file));
}

/// "4: ACTIVE" → "ACTIVE".
std::string after_number(const std::string& text) {
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

/// Returns the facts of a network interface: name, state, and its bond.
FactTexts interface_at(const fs::path& interface) {
  FactTexts facts{{"name", interface.filename().string()}};
  put(facts, "state", first_line(interface / "operstate"));
  std::error_code failure;
  const fs::path master = fs::read_symlink(interface / "master", failure);
  if (!failure && fs::exists(interface / "master/bonding", failure)) put(facts, "bond", master.filename().string());
  return facts;
}

/// Returns the network interfaces of an RDMA port: the interfaces of its addresses (GIDs), and the interfaces of its
/// device with the same port number. RDMA ports count from 1, dev_port from 0. Older drivers have only dev_id.
std::vector<FactTexts> interfaces_of(const fs::path& sys, const fs::path& adapter, const fs::path& port) {
  std::set<std::string> names;
  for (const fs::path& of_address : entries(port / "gid_attrs/ndevs"))
    if (const std::string name = first_line(of_address); !name.empty()) names.insert(name);
  const int number = std::atoi(port.filename().c_str()) - 1;
  for (const fs::path& interface : entries(adapter / "device/net")) {
    const long dev_port = std::strtol(first_line(interface / "dev_port").c_str(), nullptr, 10);
    const long dev_id = std::strtol(first_line(interface / "dev_id").c_str(), nullptr, 16);
    if ((dev_port != 0 ? dev_port : dev_id) == number) names.insert(interface.filename().string());
  }
  std::vector<FactTexts> found;
  for (const std::string& name : names) found.push_back(interface_at(sys / "class/net" / name));
  return found;
}

/// Returns the counters of the first interface of a port and of its driver.
void add_counters(const fs::path& sys, AdapterPort& port) {
  const std::string name = port.interfaces.at(0).at("name");
  AdapterCounters found = interface_counters(sys / "class/net" / name);
  AdapterCounters of_driver = link_counters(sys == "/sys" ? ethtool_statistics(name) : std::map<std::string, double>());
  for (AdapterCounters* one : {&found, &of_driver}) {
    port.counters.errors.merge(one->errors);
    port.counters.congestion.merge(one->congestion);
  }
}

std::vector<AdapterPort> infiniband_ports(const fs::path& sys) {
  std::vector<AdapterPort> ports;
  for (const fs::path& adapter : entries(sys / "class/infiniband"))
    for (const fs::path& at : entries(adapter / "ports")) {
      AdapterPort port;
      port.name = adapter.filename().string();
      for (const auto& [fact, file] :
           {std::pair{"guid", "node_guid"}, {"firmware", "fw_ver"}, {"board", "board_id"}, {"model", "hca_type"}})
        put(port.part, fact, first_line(adapter / file));
      put_pci(port, adapter / "device");
      port.place["port"] = at.filename().string();
      port.state = after_number(first_line(at / "state"));
      port.physical_state = after_number(first_line(at / "phys_state"));
      port.rate = first_line(at / "rate");
      port.link_layer = first_line(at / "link_layer");
      port.interfaces = interfaces_of(sys, adapter, at);
      port.counters = fabric_counters(at);
      if (port.link_layer == "Ethernet" &&
          !port.interfaces.empty())  // with RoCE, only the interface counts damaged packets
        add_counters(sys, port);
      ports.push_back(std::move(port));
    }
  return ports;
}

/// Returns the interfaces with a direct route to other machines of a subnet, by the routes of this process's namespace.
std::set<std::string> interfaces_of_subnets(const fs::path& root) {
  std::set<std::string> found;
  std::ifstream table(root / "proc/self/net/route");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string interface, destination, gateway, flags, references, use, metric, mask;
    words >> interface >> destination >> gateway >> flags >> references >> use >> metric >> mask;
    const bool direct = gateway == "00000000" && destination != "00000000";
    if (direct && mask.size() == 8 && mask != "FFFFFFFF") found.insert(interface);
  }
  return found;
}

/// Returns false for interfaces on top of another interface: VLANs, bridges, bonds and tunnels.
bool stands_alone(const fs::path& interface) {
  std::error_code none;
  for (const char* part : {"bridge", "bonding", "tun_flags"})
    if (fs::exists(interface / part, none)) return false;
  return lower_interfaces(interface).empty();
}

/// Adds the interfaces without an RDMA port: interfaces of PCI devices, and virtual interfaces that reach other
/// machines. A virtual interface has no identity, because each container creates a new one. Its rate is unknown: veth
/// always reports 10000 Mb/s (SPEED_10000 in drivers/net/veth.c).
void add_ethernet(const fs::path& root, std::vector<AdapterPort>& ports) {
  const fs::path sys = root / "sys";
  const std::set<std::string> reaching = interfaces_of_subnets(root);
  std::set<std::string> known;
  for (const AdapterPort& port : ports) {
    if (const auto at = port.place.find("pci"); at != port.place.end()) known.insert(at->second);
    for (const FactTexts& interface : port.interfaces) known.insert(interface.at("name"));
  }
  for (const fs::path& interface : entries(sys / "class/net")) {
    AdapterPort port;
    port.name = interface.filename().string();
    put_pci(port, interface / "device");
    const auto pci = port.place.find("pci");
    const bool has_pci = pci != port.place.end();
    if (known.contains(port.name) || (has_pci && known.contains(pci->second))) continue;
    if (!has_pci && !(reaching.contains(port.name) && stands_alone(interface))) continue;
    // The interfaces of a bond share one address. perm_address has the own address of each.
    const std::string own = first_line(interface / "bonding_slave/perm_hwaddr");
    if (has_pci) put(port.part, "mac", own.empty() ? first_line(interface / "address") : own);
    port.state = first_line(interface / "operstate");
    const std::string speed = first_line(interface / "speed");
    if (has_pci && std::atoi(speed.c_str()) > 0) port.rate = speed + " Mb/s";
    port.link_layer = "Ethernet";
    port.interfaces = {interface_at(interface)};
    add_counters(sys, port);
    ports.push_back(std::move(port));
  }
}

/// Adds the path from each port to each GPU.
void add_gpus(const fs::path& root, std::vector<AdapterPort>& ports) {
  const std::vector<PciPlace> gpus = gpus_below(root);
  for (AdapterPort& port : ports) {
    const auto pci = port.place.find("pci");
    if (pci == port.place.end()) continue;
    const PciPlace place = pci_place(root / "sys/bus/pci/devices" / pci->second);
    for (const PciPlace& gpu : gpus) port.gpus.push_back(path_between(place, gpu));
    for (GpuPath& gpu : port.gpus)
      gpu.nearest = is_nearer(gpu, nowhere) &&
                    std::ranges::none_of(port.gpus, [&](const GpuPath& other) { return is_nearer(other, gpu); });
  }
}

}  // namespace

std::vector<AdapterPort> fabric_ports(const fs::path& root) { return infiniband_ports(root / "sys"); }

std::vector<AdapterPort> adapter_ports(const fs::path& root) {
  std::vector<AdapterPort> ports = fabric_ports(root);
  add_ethernet(root, ports);
  add_gpus(root, ports);
  return ports;
}

void name_nearest_adapters(std::vector<Endpoint>& devices, const std::vector<NodeFacts>& nodes) {
  for (Endpoint& device : devices) {
    const auto node = std::ranges::find(nodes, device.node, &NodeFacts::name);
    if (device.pci.empty() || node == nodes.end()) continue;
    GpuPath best;
    std::set<std::string> names;
    for (const AdapterPort& port : node->adapters) {
      const auto path = std::ranges::find(port.gpus, device.pci, &GpuPath::pci);
      if (!port.place.contains("port") || path == port.gpus.end()) continue;
      if (is_nearer(best, *path) || !is_nearer(*path, nowhere)) continue;
      if (is_nearer(*path, best)) names.clear();
      best = *path;
      names.insert(port.name);
    }
    if (!names.empty()) device.nics.assign(names.begin(), names.end());
  }
}

}  // namespace linkmatrix
