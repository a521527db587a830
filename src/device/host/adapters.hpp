#pragma once

#include <filesystem>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Returns the network ports below `root`/sys, with their paths to all GPUs: fabric_ports(), other interfaces of PCI
/// functions, and virtual interfaces that reach other machines.
std::vector<AdapterPort> adapter_ports(const std::filesystem::path& root = "/");

/// Returns the ports of InfiniBand, RoCE, EFA and Omni-Path adapters, sorted by name, without GPU paths.
std::vector<AdapterPort> fabric_ports(const std::filesystem::path& root = "/");

/// Sets Endpoint::nics of each device with a PCI address to the nearest adapters of its node.
void name_nearest_adapters(std::vector<Endpoint>& devices, const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
