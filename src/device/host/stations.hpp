#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/topology.hpp"
#include "device/host/memory.hpp"
#include "device/host/worker.hpp"

namespace linkmatrix {

/// What one endpoint keeps for the whole run. NUMA memory has no worker: the device at the other end copies.
struct HostStation {
  Endpoint endpoint;
  std::vector<int> cores;
  std::unique_ptr<Worker> worker;
  std::map<int, HostMemory> source, destination;  ///< by slot
  HostMemory bounce;
  const std::byte* ring_at = nullptr;  ///< where the last chase through source[0] ended; nothing: it holds no ring
};

/// The devices (with their workers), then the memory of each NUMA node. Throws BadInput for an unknown device.
std::vector<HostStation> make_host_stations(std::span<const int> devices);

/// Of the first `devices` stations.
Topology host_topology(std::span<const HostStation> devices);

}  // namespace linkmatrix
