#include "core/machine_json.hpp"

#include <string_view>

namespace linkmatrix {
namespace {

void write_host(JsonWriter& w, const HostBlock& host) {
  w.key("host").begin_object();
  w.member("name", host.name).member("cpu", host.cpu).member("cores", host.cores).member("numa", host.numa_nodes);
  w.end_object();
}

void write_fact_texts(JsonWriter& w, const FactTexts& facts) {
  w.begin_object();
  for (const auto& [fact, text] : facts)
    if (!text.empty()) w.member(fact, text);
  w.end_object();
}

void write_facts(JsonWriter& w, std::string_view name, const FactTexts& facts) {
  w.key(name);
  write_fact_texts(w, facts);
}

/// Returns `facts` with the facts of `more` added.
FactTexts with(FactTexts facts, const FactTexts& more) {
  facts.insert(more.begin(), more.end());
  return facts;
}

void write_adapter(JsonWriter& w, const AdapterPort& port, const std::string& node) {
  w.begin_object().member("name", port.name).member("state", text_or_null(port.state));
  w.member("physical_state", text_or_null(port.physical_state));
  w.member("rate", text_or_null(port.rate)).member("link_layer", text_or_null(port.link_layer));
  w.member("numa", port.numa < 0 ? std::nullopt : std::optional(port.numa));
  write_facts(w, "part", port.part);
  write_facts(w, "place", with(port.place, {{"node", node}}));
  w.key("interfaces").begin_array();
  for (const FactTexts& interface : port.interfaces) write_fact_texts(w, interface);
  w.end_array();
  write_facts(w, "pcie", port.pcie);
  w.key("gpus").begin_array();
  for (const GpuPath& gpu : port.gpus) {
    w.begin_object().member("pci", gpu.pci).member("link_class", gpu.link_class).member("bridges", gpu.bridges);
    w.member("nearest", gpu.nearest).end_object();
  }
  w.end_array().end_object();
}

void write_nodes(JsonWriter& w, const std::vector<NodeFacts>& nodes) {
  w.key("nodes").begin_array();
  for (const auto& node : nodes) {
    w.begin_object().member("name", node.name);
    for (const auto& [name, text] : {std::pair{"machine", node.machine},
                                     {"serial", node.serial},
                                     {"product", node.product},
                                     {"kernel", node.kernel},
                                     {"boot", node.boot},
                                     {"bios", node.bios},
                                     {"board", node.board}})
      w.member(name, text_or_null(text));
    w.end_object();
  }
  w.end_array();
  w.key("adapters").begin_array();
  for (const auto& node : nodes)
    for (const auto& port : node.adapters) write_adapter(w, port, node.name);
  w.end_array();
}

void write_devices(JsonWriter& w, const std::vector<Endpoint>& devices) {
  w.key("devices").begin_array();
  for (const auto& device : devices) {
    w.begin_object();
    w.member("index", device.index).member("label", device.label).member("name", device.name);
    w.member("uuid", text_or_null(device.uuid)).member("pci", text_or_null(device.pci)).member("node", device.node);
    w.member("numa", device.numa < 0 ? std::nullopt : std::optional(device.numa));
    w.member("nics", device.nics);
    write_facts(w, "part", with(device.part, {{"uuid", device.uuid}}));
    write_facts(w, "place", with(device.place, {{"node", device.node}, {"pci", device.pci}}));
    if (!device.state.empty()) write_facts(w, "state", device.state);
    w.end_object();
  }
  w.end_array();
}

void write_topology(JsonWriter& w, const RecordHead& record) {
  std::vector<std::string> labels;
  for (const auto& device : record.devices) labels.push_back(device.label);
  w.key("topology").begin_object();
  w.member("labels", labels).member("link_class", record.topology.link_class).member("links", record.topology.links);
  w.member("peer_access", record.topology.peer_access).member("min_path", record.topology.min_path);
  w.end_object();
}

void write_processes(JsonWriter& w, std::string_view name, const std::vector<OtherProcess>& processes) {
  w.key(name).begin_array();
  for (const OtherProcess& process : processes) {
    w.begin_object().member("where", process.where).member("on", process.is_on_device() ? "device" : "node");
    w.member("pid", process.pid);
    w.member("name", text_or_null(process.name)).member("user", text_or_null(process.user));
    w.member("bytes", process.bytes).member("seconds", process.seconds);
    w.end_object();
  }
  w.end_array();
}

void write_disturbances(JsonWriter& w, const std::vector<Disturbance>& disturbances) {
  w.key("disturbances").begin_array();
  for (const Disturbance& one : disturbances) {
    w.begin_object().member("node", one.node).member("kind", word(one.kind)).member("where", one.where);
    w.member("share", one.share).member("pids", one.pids).end_object();
  }
  w.end_array();
}

}  // namespace

void write_machine(JsonWriter& w, const RecordHead& record) {
  write_host(w, record.host);
  write_nodes(w, record.nodes);
  write_devices(w, record.devices);
  write_topology(w, record);
}

void write_others(JsonWriter& w, const std::optional<Activity>& others) {
  if (!others) return;
  w.key("others").begin_object().member("seconds", others->seconds);
  w.member("shared", others->shared).key("uses").begin_array();
  for (const Use& use : others->uses) {
    w.begin_object().member("label", use.label).member("of", use.of);
    w.member("counted", use.counted).member("own", use.own);
    if (!use.by.empty()) w.member("by", use.by);
    if (!use.cores.empty()) w.member("cores", use.cores);
    w.end_object();
  }
  w.end_array();
  write_processes(w, "processes", others->processes);
  w.member("untold", others->untold);
  write_disturbances(w, others->disturbances);
  write_processes(w, "ignored", others->ignored);
  w.end_object();
}

}  // namespace linkmatrix
