#include "device/host/stations.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "device/host/host_facts.hpp"
#include "device/host/numa.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_core_devices = 8;  // unless --devices names more

std::vector<HostStation> device_stations() {
  const auto nodes = numa_nodes();
  const std::string host = host_facts().name;
  std::vector<HostStation> stations;
  const auto add = [&](int numa, std::vector<int> cores, const std::string& name) {
    HostStation station;
    station.endpoint.index = static_cast<int>(stations.size());
    station.endpoint.label = "cpu" + std::to_string(station.endpoint.index);
    station.endpoint.name = name;
    station.endpoint.node = host;
    station.endpoint.numa = numa;
    station.cores = std::move(cores);
    stations.push_back(std::move(station));
  };
  if (nodes.size() > 1) {
    for (const NumaNode& node : nodes)
      add(node.id, node.cores, "NUMA node " + std::to_string(node.id) + ", cores " + cpu_list_text(node.cores));
    return stations;
  }
  std::vector<int> cores = nodes.front().cores;
  if (cores.size() == 1) cores.push_back(cores.front());
  const bool shared = cores.front() == cores.back();
  for (const int core : cores)
    add(nodes.front().id, {core}, "core " + std::to_string(core) + (shared ? ", the only one, shared" : ""));
  return stations;
}

std::vector<HostStation> choose_stations(std::span<const int> wanted) {
  std::vector<HostStation> all = device_stations();
  if (wanted.empty()) {
    if (numa_nodes().size() == 1) all.resize(std::min(all.size(), most_core_devices));
    return all;
  }
  std::vector<HostStation> chosen;
  for (const int device : wanted) {
    if (device < 0 || device >= static_cast<int>(all.size()))
      throw BadInput("--devices: there is no device " + std::to_string(device) + ", there are 0 to " +
                     std::to_string(all.size() - 1));
    if (std::count(wanted.begin(), wanted.end(), device) > 1)
      throw BadInput("--devices names device " + std::to_string(device) + " twice: name each once");
    chosen.push_back(std::move(all[static_cast<std::size_t>(device)]));
  }
  return chosen;
}

}  // namespace

std::vector<HostStation> make_host_stations(std::span<const int> devices) {
  std::vector<HostStation> stations = choose_stations(devices);
  for (HostStation& station : stations) station.worker = std::make_unique<Worker>(station.cores);
  for (Endpoint& memory : host_memory_endpoints()) {
    stations.emplace_back();
    stations.back().endpoint = std::move(memory);
  }
  return stations;
}

Topology host_topology(std::span<const HostStation> stations) {
  const std::size_t n = stations.size();
  Topology t{Matrix<std::string>(n, n, "X"), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n, true),
             Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
  for (std::size_t a = 0; a < n; ++a) {
    t.min_path(a, a) = 0;
    for (std::size_t b = 0; b < n; ++b)
      if (a != b) t.link_class(a, b) = stations[a].endpoint.numa == stations[b].endpoint.numa ? "CORE" : "SYS";
  }
  return t;
}

}  // namespace linkmatrix
