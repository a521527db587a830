#include "device/host/stations.hpp"

#include <algorithm>
#include <system_error>

#include "core/error.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_core_devices = 8;  // unless --devices names more

std::vector<HostStation> device_stations(const std::vector<NumaNode>& nodes) {
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
    add(nodes.front().id, {core}, "core " + std::to_string(core) + (shared ? " (only node, shared)" : ""));
  return stations;
}

std::vector<HostStation> choose_stations(std::span<const int> wanted, const std::vector<NumaNode>& nodes) {
  std::vector<HostStation> all = device_stations(nodes);
  if (wanted.empty()) {
    if (nodes.size() == 1) all.resize(std::min(all.size(), most_core_devices));
    return all;
  }
  std::vector<HostStation> chosen;
  for (const int device : wanted) {
    if (device < 0 || device >= static_cast<int>(all.size()))
      throw BadInput("--devices: unknown device " + std::to_string(device) + ": use 0 to " +
                     std::to_string(all.size() - 1));
    if (std::count(wanted.begin(), wanted.end(), device) > 1)
      throw BadInput("--devices names device " + std::to_string(device) + " twice: name each device once");
    chosen.push_back(std::move(all[static_cast<std::size_t>(device)]));
  }
  return chosen;
}

}  // namespace

std::vector<HostStation> make_host_stations(std::span<const int> devices, const std::vector<NumaNode>& nodes) {
  std::vector<HostStation> stations = choose_stations(devices, nodes);
  for (HostStation& station : stations) {
    station.team = std::make_unique<Team>(station.cores);
    try {
      station.team->threads(1);
    } catch (const std::system_error& e) {
      station.lost = station.endpoint.label + ": no thread could be started: " + e.code().message();
    }
  }
  for (Endpoint& memory : host_memory_endpoints(nodes)) {
    stations.emplace_back();
    stations.back().endpoint = std::move(memory);
  }
  return stations;
}

std::vector<int> cores_beside(const std::vector<NumaNode>& nodes, std::span<const HostStation> devices) {
  std::vector<int> cores;
  for (const NumaNode& node : nodes)
    for (const int core : node.cores)
      if (std::none_of(devices.begin(), devices.end(), [core](const HostStation& device) {
            return std::find(device.cores.begin(), device.cores.end(), core) != device.cores.end();
          }))
        cores.push_back(core);
  return cores;
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
