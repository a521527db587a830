#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"
#include "core/result.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// GB/s of the ports of a node that are up: those of InfiniBand, RoCE and Omni-Path where it has any, else its
/// Ethernet. Nothing where one of them does not say its rate.
std::optional<double> network_limit(const NodeFacts& node);

/// What is known of the way that data goes, which decides what links must carry at least.
enum class Route {
  unknown,  ///< or one on which the network adds up (NVLS, SHARP): links may carry less than the bus bandwidth
  ring,     ///< once around, over every rank
  any,      ///< each link carries what it must, whatever the algorithm
};

/// The route of a collective. Without its choice (see last_choice) NCCL may have had the network add up, but for what
/// is made of sends.
Route route_of(Engine engine, Collective collective, const std::string& choice);

/// The bus bandwidth in GB/s that links allow, `ranks` by their endpoints and in their order: inside a node by what
/// devices can send, over NVLink or else PCIe; between nodes also by what a node's network ports carry together.
/// Nothing where a link's rate or the route is not known, and for host memory inside a machine, which no link limits.
std::optional<double> bus_limit(const CollectiveCase& wanted, Route route, const std::vector<Endpoint>& ranks,
                                const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
