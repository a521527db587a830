#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// What a port of an RDMA adapter has counted, in the kernel's names of its files in `counters` and `hw_counters`.
AdapterCounters fabric_counters(const std::filesystem::path& port);

/// What a network interface, /sys/class/net/NAME, has counted, in the names of its files in `statistics`.
AdapterCounters interface_counters(const std::filesystem::path& interface);

/// A health of each port that counted something between two looks at the same nodes, with that alone. It is called as
/// the adapter, "mlx5_0", with its node before it where there are several, and its port behind it unless that is the
/// first.
std::vector<Health> adapter_health(const std::vector<NodeFacts>& before, const std::vector<NodeFacts>& after);

/// What the driver of a network interface of this process's network namespace has counted, as `ethtool -S` prints it;
/// empty where there is no such interface, or its driver counts nothing.
std::map<std::string, double> ethtool_statistics(const std::string& interface);

/// Those of them that say something of a link: errors, and signs of congestion, such as pauses by priority (PFC).
AdapterCounters link_counters(const std::map<std::string, double>& statistics);

}  // namespace linkmatrix
