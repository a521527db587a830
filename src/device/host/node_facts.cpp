#include "device/host/node_facts.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "device/host/host_facts.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_text = 256;  // of a fact: more is none

/// The first line of a file; empty where there is none.
std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  const bool printable = std::all_of(line.begin(), line.end(), [](unsigned char c) { return c >= ' ' && c < 0x7f; });
  return printable && line.size() <= most_text ? line : "";
}

/// Entries of a folder in the order of their names; none where there is no folder.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    found.push_back(entry->path());
  std::sort(found.begin(), found.end());
  return found;
}

void put(FactTexts& facts, const std::string& name, const std::string& text) {
  if (!text.empty()) facts[name] = text;
}

/// Where an adapter's function sits on the PCI bus; empty for what is no PCI device.
std::string pci_address(const fs::path& device) {
  std::error_code failure;
  const std::string name = fs::canonical(device, failure).filename().string();
  const bool is_address = name.find(':') != std::string::npos;  // virtual devices have a vendor too
  return !failure && is_address && fs::exists(device / "vendor", failure) ? name : "";
}

int numa_of(const fs::path& device) {
  const std::string text = line_of(device / "numa_node");
  return text.empty() ? -1 : std::atoi(text.c_str());
}

/// "4: ACTIVE" → "ACTIVE".
std::string after_number(const std::string& text) {
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

/// Ports of what /sys/class/infiniband lists: InfiniBand, RoCE and Omni-Path.
std::vector<AdapterPort> infiniband_ports(const fs::path& sys) {
  std::vector<AdapterPort> ports;
  for (const fs::path& adapter : entries(sys / "class/infiniband"))
    for (const fs::path& at : entries(adapter / "ports")) {
      AdapterPort port;
      port.name = adapter.filename().string();
      for (const auto& [fact, file] :
           {std::pair{"guid", "node_guid"}, {"firmware", "fw_ver"}, {"board", "board_id"}, {"model", "hca_type"}})
        put(port.part, fact, line_of(adapter / file));
      put(port.place, "pci", pci_address(adapter / "device"));
      port.place["port"] = at.filename().string();
      port.state = after_number(line_of(at / "state"));
      port.rate = line_of(at / "rate");
      port.link_layer = line_of(at / "link_layer");
      port.numa = numa_of(adapter / "device");
      ports.push_back(std::move(port));
    }
  return ports;
}

/// Network interfaces of PCI devices that have no entry above.
void add_ethernet(const fs::path& sys, std::vector<AdapterPort>& ports) {
  for (const fs::path& interface : entries(sys / "class/net")) {
    AdapterPort port;
    port.name = interface.filename().string();
    const std::string pci = pci_address(interface / "device");
    const bool known = std::any_of(ports.begin(), ports.end(), [&](const AdapterPort& other) {
      const auto at = other.place.find("pci");
      return at != other.place.end() && at->second == pci;
    });
    if (pci.empty() || known) continue;
    put(port.part, "mac", line_of(interface / "address"));
    port.place["pci"] = pci;
    port.state = line_of(interface / "operstate");
    const std::string speed = line_of(interface / "speed");
    if (std::atoi(speed.c_str()) > 0) port.rate = speed + " Mb/s";
    port.link_layer = "Ethernet";
    port.numa = numa_of(interface / "device");
    ports.push_back(std::move(port));
  }
}

}  // namespace

std::vector<AdapterPort> fabric_ports(const fs::path& root) { return infiniband_ports(root / "sys"); }

std::string boot_id(const fs::path& root) { return line_of(root / "proc/sys/kernel/random/boot_id"); }

NodeFacts node_facts(const fs::path& root) {
  NodeFacts node;
  node.name = host_facts().name;
  node.machine = line_of(root / "etc/machine-id");
  node.serial = line_of(root / "sys/class/dmi/id/product_serial");
  node.product = line_of(root / "sys/class/dmi/id/product_name");
  node.kernel = line_of(root / "proc/sys/kernel/osrelease");
  node.boot = boot_id(root);
  node.adapters = fabric_ports(root);
  add_ethernet(root / "sys", node.adapters);
  return node;
}

}  // namespace linkmatrix
