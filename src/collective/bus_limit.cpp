#include "collective/bus_limit.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "collective/nccl_log.hpp"

namespace linkmatrix {
namespace {

/// Parses the kernel's "400 Gb/sec (4X NDR)" or "25000 Mb/s"; 0: unknown.
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

/// The ranks behind common links: the rank of one device, or all ranks of one node.
struct Group {
  double rate = 0;     ///< GB/s of its links per direction
  double ranks = 0;    ///< number of its ranks
  double leaving = 0;  ///< number of its ranks whose next rank is in another group
  bool has_root = false;
};

/// Returns the load of a group's links in one direction, as a multiple of the bus bandwidth. all: number of all ranks.
double share_of(Collective collective, Route route, const Group& group, double all) {
  const double away = all - group.ranks;
  switch (collective) {
    case Collective::sendrecv:
      return group.leaving;
    case Collective::alltoall:
      return group.ranks * away / (all - 1);
    case Collective::gather:
    case Collective::scatter:  // the root's links carry the parts of all other ranks
      return (group.has_root ? away : group.ranks) / (all - 1);
    case Collective::all_gather:
    case Collective::reduce_scatter:
      return route == Route::ring ? 1 : std::max(group.ranks, away) / (all - 1);
    case Collective::all_reduce:  // any algorithm moves the whole buffer once per link
      return route == Route::ring ? 1 : all / (2 * (all - 1));
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send:
      return 1;
  }
  return 1;
}

/// Returns the bus bandwidth that the links of all groups allow, in GB/s.
double limit_of(const CollectiveCase& wanted, Route route, const std::vector<Group>& groups) {
  double all = 0, rates = 0;
  for (const Group& group : groups) all += group.ranks, rates += group.rate;
  double least = std::numeric_limits<double>::infinity();
  for (const Group& group : groups)
    least = std::min(least, group.rate / share_of(wanted.collective, route, group, all));
  if (wanted.collective != Collective::all_reduce || route == Route::ring) return least;
  // With n groups, each element crosses n - 1 links to be reduced, and n - 1 links to be distributed.
  return std::min(least, rates * (all - 1) / (all * (static_cast<double>(groups.size()) - 1)));
}

/// Returns one group per device; nothing if the rate of a device is unknown.
std::optional<std::vector<Group>> groups_of_devices(const CollectiveCase& wanted, const std::vector<Endpoint>& ranks) {
  std::vector<Group> groups;
  for (const Endpoint& rank : ranks) {
    const std::optional<double> own = rank.link_limit ? rank.link_limit : rank.host_limit;
    if (!own) return std::nullopt;
    const bool is_root = static_cast<int>(groups.size()) == wanted.root;
    groups.push_back({.rate = *own, .ranks = 1, .leaving = 1, .has_root = is_root});
  }
  return groups;
}

/// Returns whether two nodes are containers or scheduler nodes on one machine, so that data between them uses no port.
bool share_a_machine(const std::vector<const NodeFacts*>& nodes) {
  std::set<std::string> boots;
  return !std::ranges::all_of(
      nodes, [&](const NodeFacts* node) { return node->boot.empty() || boots.insert(node->boot).second; });
}

/// Returns one group per node; nothing if the network of a node is unknown, or if two nodes have no common network.
std::optional<std::vector<Group>> groups_of_nodes(const CollectiveCase& wanted, const std::vector<Endpoint>& ranks,
                                                  const std::vector<NodeFacts>& nodes) {
  std::map<std::string, Group> by_name;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    Group& group = by_name[ranks[r].node];
    ++group.ranks;
    if (ranks[(r + 1) % ranks.size()].node != ranks[r].node) ++group.leaving;
    if (static_cast<int>(r) == wanted.root) group.has_root = true;
  }
  std::vector<Group> groups;
  std::vector<const NodeFacts*> there;
  for (auto& [name, group] : by_name) {
    const auto node = std::ranges::find(nodes, name, &NodeFacts::name);
    const auto network = node == nodes.end() ? std::nullopt : network_limit(*node);
    if (!network) return std::nullopt;
    group.rate = *network;
    groups.push_back(group);
    there.push_back(&*node);
  }
  return share_a_machine(there) ? std::nullopt : std::optional(groups);
}

}  // namespace

std::optional<double> network_limit(const NodeFacts& node) {
  const bool has_fabric = std::ranges::any_of(node.adapters, is_fabric);
  double sum = 0;
  for (const AdapterPort& port : node.adapters) {
    if (!is_up(port) || is_fabric(port) != has_fabric) continue;
    const double rate = gigabytes_of(port.rate);
    if (!(rate > 0)) return std::nullopt;
    sum += rate;
  }
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

Route route_of(Engine engine, Collective collective, const std::string& choice) {
  if (engine != Engine::nccl || is_made_of_sends(collective)) return Route::any;
  if (choice.empty() || reduces_in_network(choice)) return Route::unknown;
  return is_algorithm(choice, "Ring") ? Route::ring : Route::any;
}

std::optional<double> bus_limit(const CollectiveCase& wanted, Route route, const std::vector<Endpoint>& ranks,
                                const std::vector<NodeFacts>& nodes) {
  if (route == Route::unknown || ranks.size() < 2) return std::nullopt;
  const auto devices = groups_of_devices(wanted, ranks);
  const auto inside = devices ? std::optional(limit_of(wanted, route, *devices)) : std::nullopt;
  if (std::ranges::all_of(ranks, [&](const Endpoint& rank) { return rank.node == ranks.front().node; })) return inside;
  const auto networks = groups_of_nodes(wanted, ranks, nodes);
  if (!networks) return std::nullopt;
  const double between = limit_of(wanted, route, *networks);
  return std::min(between, inside.value_or(between));
}

}  // namespace linkmatrix
