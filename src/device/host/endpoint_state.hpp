#pragma once

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

/// Shared with the threads that copy: one that hangs keeps what it may still touch.
using SharedMemory = std::shared_ptr<HostMemory>;

/// What one endpoint keeps for the whole run. NUMA memory has no threads: the device at the other end copies.
struct HostEndpointState {
  Endpoint endpoint;
  std::vector<int> cores;
  std::unique_ptr<Team> team;
  std::map<int, SharedMemory> source, destination;  ///< by slot
  std::vector<SharedMemory> bounces;                ///< by thread
  std::set<int> patterned;                          ///< slots of sources that hold their pattern
  const std::byte* ring_at = nullptr;  ///< where the last chase through source[0] ended; nothing: it holds no ring
  std::optional<std::string> lost;     ///< why it takes no part
};

/// The devices (with their threads), then the memory of each NUMA node. A device is a core; where there are several
/// NUMA nodes, one of them. Throws BadInput for an unknown device.
std::vector<HostEndpointState> make_host_endpoint_states(std::span<const int> devices,
                                                         const std::vector<NumaNode>& nodes);

/// Cores of the nodes that no device has.
std::vector<int> cores_beside(const std::vector<NumaNode>& nodes, std::span<const HostEndpointState> devices);

/// Of the first `devices` stations.
Topology host_topology(std::span<const HostEndpointState> devices);

}  // namespace linkmatrix
