#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "core/result.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// Returns the total rate of a node's active ports in GB/s per direction: InfiniBand, RoCE and Omni-Path ports; without
/// such ports, Ethernet. Nothing if a rate is unknown.
std::optional<double> network_limit(const NodeFacts& node);

/// Route of the data. It determines how much of the data each link carries.
enum class Route {
  unknown,  ///< unknown, or reductions in the network (NVLS, SHARP): no limit can be given
  ring,     ///< a ring over all ranks
  any,      ///< any other algorithm: each link carries at least the minimum of all algorithms
};

/// Returns the route of a collective. choice: algorithm, see last_choice(); "": unknown.
Route route_of(Engine engine, Collective collective, const std::string& choice);

/// Returns the maximum bus bandwidth in GB/s. The limit is the rate of the devices' NVLinks or PCIe slots, and between
/// nodes also network_limit(). ranks: endpoint of each rank. Nothing if a rate or the route is unknown, and for host
/// memory inside a node.
std::optional<double> bus_limit(const CollectiveCase& wanted, Route route, const std::vector<Endpoint>& ranks,
                                const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
