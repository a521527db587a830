#pragma once

#include <filesystem>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Ports of the machine's network adapters, as the kernel lists them below `root`/sys: those of `fabric_ports`, then
/// network interfaces of PCI functions that have none there, and those without one that reach other machines. With each
/// the way to each GPU.
std::vector<AdapterPort> adapter_ports(const std::filesystem::path& root = "/");

/// Ports of InfiniBand, RoCE, EFA and Omni-Path adapters alone, in the order of their names, without GPUs.
std::vector<AdapterPort> fabric_ports(const std::filesystem::path& root = "/");

/// Gives each device that has a PCI address the names of the adapters that are nearest to it by PCI, where the facts of
/// its node tell.
void name_nearest_adapters(std::vector<Endpoint>& devices, const std::vector<NodeFacts>& nodes);

}  // namespace linkmatrix
