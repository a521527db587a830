#pragma once

#include <optional>
#include <vector>

#include "collective/collective_words.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// GB/s of the ports of a node that are up: those of InfiniBand, RoCE and Omni-Path where it has any, else its
/// Ethernet. Nothing where none says its rate.
std::optional<double> network_limit(const NodeFacts& node);

/// The bus bandwidth in GB/s that links allow whatever algorithm runs, `ranks` by their endpoints: inside a node what a
/// device can send, by NVLink or else by PCIe; between nodes also what a node's network ports carry together. Nothing
/// where a link's rate is not known, and for host memory inside a node, which no link limits. Where the network adds up
/// itself (NVLS, SHARP) it does not hold.
std::optional<double> bus_limit(Collective what, const std::vector<Endpoint>& ranks,
                                const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
