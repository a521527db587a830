#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "core/result.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// Returns the total rate of a node's active ports in GB/s: InfiniBand, RoCE and Omni-Path if present, else Ethernet.
/// Nothing if a rate is unknown.
std::optional<double> network_limit(const NodeFacts& node);

/// Route of the data, which determines what links must carry.
enum class Route {
  unknown,  ///< unknown, or with reductions in the network (NVLS, SHARP): links may carry less than the bus bandwidth
  ring,     ///< ring over all ranks
  any,      ///< each link carries at least the data required by any algorithm
};

/// Returns the route of a collective. choice: see last_choice(). If unknown, NCCL may reduce in the network, except for
/// collectives made of sends.
Route route_of(Engine engine, Collective collective, const std::string& choice);

/// Returns the bus bandwidth in GB/s that links allow. ranks: endpoints of the ranks, in their order. Inside a node the
/// limit is the rate of devices over NVLink or PCIe; between nodes also the total rate of a node's ports. Nothing if a
/// rate or the route is unknown, and for host memory inside a node.
std::optional<double> bus_limit(const CollectiveCase& wanted, Route route, const std::vector<Endpoint>& ranks,
                                const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
