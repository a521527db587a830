#pragma once

#include <string>
#include <vector>

#include "core/activity.hpp"
#include "core/machine.hpp"
#include "core/topology.hpp"
#include "device/host/adapter_traffic.hpp"
#include "ranks/packing.hpp"

// Replies of ranks to rank 0 about their nodes and devices.

namespace linkmatrix::ranks {

/// Bytes that a rank transferred over the network since its start, and counters of its node's adapters.
struct Traffic {
  double sent = 0, received = 0;  ///< bytes of messages to and from ranks on other nodes, without headers
  bool known = true;              ///< whether these are all bytes since the previous reply
  std::vector<AdapterTraffic> adapters{};
};

/// Placeholders for rank and node in the poll of a rank. Rank 0 replaces them by labels.
constexpr const char *this_rank = "rank", *this_node = "node";

/// Adds a rank's poll to the poll of all ranks. Replaces the placeholders by `rank` and `node`.
void add_poll(Activity& all, Activity poll, const std::string& rank, const std::string& node);

void fields(auto& archive, Is<Traffic> auto& traffic) {
  archive(traffic.sent, traffic.received, traffic.known, traffic.adapters);
}

void fields(auto& archive, Is<AdapterTraffic> auto& one) {
  archive(one.name, one.sent, one.received, one.used, one.rate);
}

void fields(auto& archive, Is<DeviceState> auto& state) { archive(state.counters, state.readings); }

void fields(auto& archive, Is<GpuPath> auto& path) { archive(path.pci, path.link_class, path.bridges, path.nearest); }

void fields(auto& archive, Is<AdapterPort> auto& port) {
  archive(port.name, port.part, port.place, port.state, port.rate, port.link_layer, port.physical_state, port.numa);
  archive(port.interfaces, port.pcie, port.gpus, port.counters.errors, port.counters.congestion);
}

void fields(auto& archive, Is<NodeFacts> auto& node) {
  archive(node.name, node.machine, node.serial, node.product, node.kernel, node.boot, node.bios, node.board);
  archive(node.adapters);
}

void fields(auto& archive, Is<Use> auto& use) { archive(use.label, use.of, use.own, use.cores); }

void fields(auto& archive, Is<NodeLoad> auto& load) {
  archive(load.node, load.cores, load.busy, load.own_busy, load.kernel);
}

void fields(auto& archive, Is<OtherProcess> auto& process) {
  archive(process.where, process.pid, process.name, process.user, process.bytes, process.seconds, process.lately);
  archive(process.on_device);
}

void fields(auto& archive, Is<Activity> auto& poll) {
  archive(poll.shared, poll.uses, poll.nodes, poll.processes, poll.untold);
}

}  // namespace linkmatrix::ranks
