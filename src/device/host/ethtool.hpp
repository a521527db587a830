#pragma once

#include <map>
#include <string>

#include "core/topology.hpp"

namespace linkmatrix {

/// What the driver of a network interface of this process's network namespace has counted, as `ethtool -S` prints it;
/// empty where there is no such interface, or its driver counts nothing.
std::map<std::string, double> ethtool_statistics(const std::string& interface);

/// Those of them that say something of a link: errors, and signs of congestion, such as pauses by priority (PFC).
AdapterCounters link_counters(const std::map<std::string, double>& statistics);

}  // namespace linkmatrix
