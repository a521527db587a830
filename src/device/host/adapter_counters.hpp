#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// Reads the counters of an RDMA port, by the kernel's file names in `counters` and `hw_counters`.
AdapterCounters fabric_counters(const std::filesystem::path& port);

/// Reads the counters of a network interface (/sys/class/net/NAME), by the file names in `statistics`.
AdapterCounters interface_counters(const std::filesystem::path& interface);

/// Returns the counters that changed between two polls of the same nodes, per port. Labels: "mlx5_0"; "mlx5_0:2" for
/// port 2; "n1:mlx5_0" if there are several nodes.
std::vector<Health> adapter_health(const std::vector<NodeFacts>& before, const std::vector<NodeFacts>& after);

/// Returns the driver's counters of an interface in this network namespace, as `ethtool -S` prints them; empty if there
/// are none.
std::map<std::string, double> ethtool_statistics(const std::string& interface);

/// Returns those `statistics` that count link errors or congestion, such as priority pauses (PFC).
AdapterCounters link_counters(const std::map<std::string, double>& statistics);

}  // namespace linkmatrix
