#include "ranks/node_traffic.hpp"

#include <algorithm>
#include <utility>

namespace linkmatrix::ranks {
namespace {

constexpr double late = 0.01;  // tolerated fraction of the run's bytes that counters lack
constexpr double idle = 0.01;  // an adapter with a smaller fraction of the run's bytes carried none of them

}  // namespace

bool NodeTraffic::Bytes::is_complete() const { return counted - counted_before >= (1 - late) * (own - own_before); }

bool NodeTraffic::take(std::span<const std::optional<Traffic>> ranks) {
  std::map<std::string, std::vector<Traffic>> of_node;
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    Node& node = found_[nodes_[rank]];
    if (rank >= ranks.size() || !ranks[rank])
      node.known = false;
    else
      of_node[nodes_[rank]].push_back(*ranks[rank]);
  }
  bool are_complete = true;
  for (const auto& [name, messages] : of_node) {
    Node& node = found_[name];
    count(node, messages);
    are_complete = are_complete && (node.by.empty() || (node.out.is_complete() && node.in.is_complete()));
  }
  return are_complete;
}

/// Adds the bytes since the previous poll. Bytes before the first poll do not belong to this run.
void NodeTraffic::count(Node& node, std::span<const Traffic> ranks) {
  node.out.own = node.in.own = 0;
  std::map<std::string, AdapterTraffic> now;
  for (const Traffic& rank : ranks) {
    node.out.own += rank.sent, node.in.own += rank.received;
    node.known = node.known && rank.known;
    for (const AdapterTraffic& adapter : rank.adapters) {
      AdapterTraffic& known = now[adapter.name];
      known = {adapter.name, std::max(known.sent, adapter.sent), std::max(known.received, adapter.received),
               known.used || adapter.used, adapter.rate};
    }
  }
  for (const auto& [name, adapter] : now) {
    const auto before = node.adapters.find(name);
    if (!adapter.used || before == node.adapters.end()) continue;
    const double sent = std::max(0.0, adapter.sent - before->second.sent);
    const double received = std::max(0.0, adapter.received - before->second.received);
    node.out.counted += sent, node.in.counted += received;
    node.moved[name] += sent + received;
  }
  node.adapters = std::move(now);
  set_carriers(node);
}

/// Determines the adapters that carried the messages, because MPI opens all adapters and uses only some. Until an
/// adapter has counted the bytes, all count.
void NodeTraffic::set_carriers(Node& node) {
  const double own = node.out.own - node.out.own_before + node.in.own - node.in.own_before;
  const auto carried = [&](const auto& one) { return one.second.used && node.moved[one.first] >= idle * own; };
  const bool is_known = std::ranges::any_of(node.adapters, carried);
  bool rates_known = true;
  node.by.clear();
  node.rate = 0;
  for (const auto& one : node.adapters) {
    if (!(is_known ? carried(one) : one.second.used)) continue;
    node.by += (node.by.empty() ? "" : ", ") + one.first;
    rates_known = rates_known && one.second.rate > 0;
    node.rate += one.second.rate;
  }
  if (!rates_known) node.rate = 0;
}

void NodeTraffic::add(Activity& activity) {
  for (auto& [name, node] : found_) {
    if (node.by.empty()) activity.untold.push_back(name + ": the adapter of its messages is unknown");
    for (const auto& [of, bytes] : {std::pair{"net_out", &node.out}, std::pair{"net_in", &node.in}}) {
      const bool is_complete = !node.by.empty() && bytes->is_complete();
      if (!node.by.empty() && !is_complete)
        activity.untold.push_back(name + ": counter " + of + " of " + node.by +
                                  " shows fewer bytes than were transferred");
      activity.uses.push_back({name, of, is_complete ? std::optional(bytes->counted) : std::nullopt,
                               node.known ? std::optional(bytes->own) : std::nullopt, node.by, node.rate});
      bytes->counted_before = bytes->counted, bytes->own_before = bytes->own;
    }
    node.known = true;
    node.moved.clear();
  }
}

}  // namespace linkmatrix::ranks
