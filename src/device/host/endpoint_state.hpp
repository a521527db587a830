#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/host/memory.hpp"
#include "device/host/numa.hpp"
#include "device/host/team.hpp"

namespace linkmatrix {

/// Memory of a copy. Shared, so that a thread that hangs keeps its memory alive.
using SharedMemory = std::shared_ptr<HostMemory>;

/// State of one endpoint during a run. NUMA memory has no threads: the other endpoint makes its copies.
struct HostEndpointState {
  Endpoint endpoint;
  std::vector<int> cores;
  std::unique_ptr<Team> team;
  std::map<int, SharedMemory> source, destination;  ///< buffers by slot
  std::vector<SharedMemory> bounces;                ///< buffers by thread
  std::set<int> patterned;                          ///< slots of sources that contain their pattern
  const std::byte* ring_at = nullptr;               ///< end of the last chase in source[0]; null: no ring
  std::optional<std::string> lost;                  ///< why the endpoint is lost
};

/// Returns the devices with their threads, followed by the memory of each NUMA node. With several NUMA nodes a device
/// is a node, else a core. devices: numbers of the devices; empty: all. Throws BadInput for an unknown or repeated
/// device.
std::vector<HostEndpointState> make_host_endpoint_states(std::span<const int> devices,
                                                         const std::vector<NumaNode>& nodes);

/// Returns the cores that no device uses.
std::vector<int> unused_cores(const std::vector<NumaNode>& nodes, std::span<const HostEndpointState> devices);

/// Returns the resource numbers of endpoints (indices `used`): their cores, and the memory controllers of their nodes.
std::vector<int> resources_of(std::span<const HostEndpointState> endpoints, std::initializer_list<int> used);

/// Returns the topology of the devices.
Topology host_topology(std::span<const HostEndpointState> devices);

}  // namespace linkmatrix
