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

/// Returns the counters that changed between two polls of the same nodes, per port. The label is the adapter, "mlx5_0",
/// preceded by its node if there are several nodes, and followed by its port unless it is the first.
std::vector<Health> adapter_health(const std::vector<NodeFacts>& before, const std::vector<NodeFacts>& after);

/// Returns the counters of an interface's driver in this network namespace, as `ethtool -S` prints them; empty without
/// such an interface or counters.
std::map<std::string, double> ethtool_statistics(const std::string& interface);

/// Selects the counters of link errors and of congestion, such as priority pauses (PFC).
AdapterCounters link_counters(const std::map<std::string, double>& statistics);

}  // namespace linkmatrix
