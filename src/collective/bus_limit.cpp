#include "collective/bus_limit.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace linkmatrix {
namespace {

/// Of "400 Gb/sec (4X NDR)" and "25000 Mb/s", as the kernel says it; 0: unknown.
double gigabytes_of(const std::string& rate) {
  char* unit = nullptr;
  const double number = std::strtod(rate.c_str(), &unit);
  const std::string_view rest = unit;
  if (rest.starts_with(" Gb/s")) return number / 8;
  if (rest.starts_with(" Mb/s")) return number / 8e3;
  return 0;
}

bool is_up(const AdapterPort& port) { return port.state == "ACTIVE" || port.state == "up"; }
bool is_fabric(const AdapterPort& port) { return port.place.contains("port"); }

/// What every rank can send to the others of its node.
std::optional<double> device_limit(const std::vector<Endpoint>& ranks) {
  std::optional<double> least;
  for (const Endpoint& rank : ranks) {
    const std::optional<double> own = rank.link_limit ? rank.link_limit : rank.host_limit;
    if (!own) return std::nullopt;
    least = std::min(*own, least.value_or(*own));
  }
  return least;
}

/// Of a bus bandwidth, the part that goes through the network ports of one of the nodes, which have `each` of `all`
/// ranks: of all-to-all, all that its ranks send to other nodes; to or from a root, all that other nodes have of it; of
/// all others, what passes once around, or down, all nodes.
double share_of_network(Collective what, double each, double all) {
  const double away = (all - each) / (all - 1);
  switch (what) {
    case Collective::alltoall:
      return each * away;
    case Collective::gather:
    case Collective::scatter:
      return away;
    default:
      return 1;
  }
}

}  // namespace

std::optional<double> network_limit(const NodeFacts& node) {
  const bool has_fabric = std::ranges::any_of(node.adapters, is_fabric);
  double sum = 0;
  for (const AdapterPort& port : node.adapters)
    if (is_up(port) && is_fabric(port) == has_fabric) sum += gigabytes_of(port.rate);
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

std::optional<double> bus_limit(Collective what, const std::vector<Endpoint>& ranks,
                                const std::vector<NodeFacts>& nodes) {
  std::map<std::string, double> each;
  for (const Endpoint& rank : ranks) ++each[rank.node];
  const std::optional<double> devices = device_limit(ranks);
  if (each.size() < 2) return devices;
  std::optional<double> least = devices;
  for (const auto& [name, count] : each) {
    const auto node = std::ranges::find(nodes, name, &NodeFacts::name);
    const auto network = node == nodes.end() ? std::nullopt : network_limit(*node);
    if (!network) return std::nullopt;
    const double own = *network / share_of_network(what, count, static_cast<double>(ranks.size()));
    least = std::min(own, least.value_or(own));
  }
  return least;
}

}  // namespace linkmatrix
