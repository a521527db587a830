#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/cuda/nvml.hpp"

namespace linkmatrix::cuda {

/// Number of visible devices; `reason` says why there is none.
int visible_devices(std::string& reason);

/// The devices as endpoints, in the order of `ordinals`.
std::vector<Endpoint> describe_devices(std::span<const int> ordinals);

/// Whether a device has access to another's memory, by the driver's word; false where one is not visible here.
bool can_reach(const Endpoint& from, const Endpoint& to);

/// Link classes, links, peer access (by `reaches`), shortest paths and limits between the devices.
Topology discover_topology(const Nvml& nvml, const std::vector<Endpoint>& devices,
                           const std::function<bool(const Endpoint&, const Endpoint&)>& reaches = can_reach);

/// Versions of the driver and of CUDA.
Software describe_software(const Nvml& nvml);

/// Fills in link_limit and host_limit, as far as the driver says how many links and lanes there are.
void read_limits(const Nvml& nvml, Endpoint& device);

}  // namespace linkmatrix::cuda
