#include "device/host/endpoint_state.hpp"

#include <algorithm>
#include <system_error>

#include "core/error.hpp"
#include "device/host/host_facts.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t most_core_devices = 8;  // default number of core devices

std::vector<HostEndpointState> device_endpoint_states(const std::vector<NumaNode>& nodes) {
  const std::string host = host_name();
  std::vector<HostEndpointState> endpoint_states;
  const auto add = [&](int numa, std::vector<int> cores, const std::string& name) {
    HostEndpointState endpoint_state;
    endpoint_state.endpoint.index = static_cast<int>(endpoint_states.size());
    endpoint_state.endpoint.label = "cpu" + std::to_string(endpoint_state.endpoint.index);
    endpoint_state.endpoint.name = name;
    endpoint_state.endpoint.node = host;
    endpoint_state.endpoint.numa = numa;
    endpoint_state.cores = std::move(cores);
    endpoint_states.push_back(std::move(endpoint_state));
  };
  if (nodes.size() > 1) {
    for (const NumaNode& node : nodes)
      add(node.id, node.cores, "NUMA node " + std::to_string(node.id) + ", cores " + cpu_list_text(node.cores));
    return endpoint_states;
  }
  std::vector<int> cores = nodes.front().cores;
  if (cores.size() == 1) cores.push_back(cores.front());
  const bool shared = cores.front() == cores.back();
  for (const int core : cores)
    add(nodes.front().id, {core}, "core " + std::to_string(core) + (shared ? " (only node, shared)" : ""));
  return endpoint_states;
}

std::vector<HostEndpointState> choose_endpoint_states(std::span<const int> wanted, const std::vector<NumaNode>& nodes) {
  std::vector<HostEndpointState> all = device_endpoint_states(nodes);
  if (wanted.empty()) {
    if (nodes.size() == 1) all.resize(std::min(all.size(), most_core_devices));
    return all;
  }
  std::vector<HostEndpointState> chosen;
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

std::vector<HostEndpointState> make_host_endpoint_states(std::span<const int> devices,
                                                         const std::vector<NumaNode>& nodes) {
  std::vector<HostEndpointState> endpoint_states = choose_endpoint_states(devices, nodes);
  for (HostEndpointState& endpoint_state : endpoint_states) {
    endpoint_state.team = std::make_unique<Team>(endpoint_state.cores);
    try {
      endpoint_state.team->threads(1);
    } catch (const std::system_error& e) {
      endpoint_state.lost = endpoint_state.endpoint.label + ": no thread could be started: " + e.code().message();
    }
  }
  for (Endpoint& memory : host_memory_endpoints(nodes)) {
    endpoint_states.emplace_back();
    endpoint_states.back().endpoint = std::move(memory);
  }
  return endpoint_states;
}

std::vector<int> unused_cores(const std::vector<NumaNode>& nodes, std::span<const HostEndpointState> devices) {
  std::vector<int> cores;
  for (const NumaNode& node : nodes)
    for (const int core : node.cores)
      if (std::none_of(devices.begin(), devices.end(), [core](const HostEndpointState& device) {
            return std::find(device.cores.begin(), device.cores.end(), core) != device.cores.end();
          }))
        cores.push_back(core);
  return cores;
}

std::vector<int> resources_of(std::span<const HostEndpointState> endpoints, std::initializer_list<int> used) {
  constexpr int first_memory_controller = 1 << 20;  // resource number; cores have lower numbers
  std::set<int> out;
  for (const int end : used) {
    const HostEndpointState& at = endpoints[static_cast<std::size_t>(end)];
    out.insert(at.cores.begin(), at.cores.end());
    out.insert(first_memory_controller + at.endpoint.numa);
  }
  return {out.begin(), out.end()};
}

Topology host_topology(std::span<const HostEndpointState> endpoint_states) {
  const std::size_t n = endpoint_states.size();
  Topology t{Matrix<std::string>(n, n, "X"), Matrix<std::optional<int>>(n, n), Matrix<std::optional<bool>>(n, n, true),
             Matrix<std::optional<int>>(n, n, 1), Matrix<std::optional<double>>(n, n)};
  for (std::size_t a = 0; a < n; ++a) {
    t.min_path(a, a) = 0;
    for (std::size_t b = 0; b < n; ++b)
      if (a != b)
        t.link_class(a, b) = endpoint_states[a].endpoint.numa == endpoint_states[b].endpoint.numa ? "CORE" : "SYS";
  }
  return t;
}

}  // namespace linkmatrix
