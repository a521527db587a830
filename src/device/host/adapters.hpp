#pragma once

#include <filesystem>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Returns the ports of the machine's network adapters below `root`/sys: those of `fabric_ports`, other interfaces of
/// PCI functions, and virtual interfaces that reach other machines. Each has its paths to all GPUs.
std::vector<AdapterPort> adapter_ports(const std::filesystem::path& root = "/");

/// Returns the ports of InfiniBand, RoCE, EFA and Omni-Path adapters, sorted by name, without GPU paths.
std::vector<AdapterPort> fabric_ports(const std::filesystem::path& root = "/");

/// Sets the nearest adapters of each device with a PCI address, from the facts of its node.
void name_nearest_adapters(std::vector<Endpoint>& devices, const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
