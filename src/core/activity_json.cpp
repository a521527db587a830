#include "core/activity_json.hpp"

#include "core/machine_json.hpp"
#include "core/words.hpp"

namespace linkmatrix {
namespace {

void write_processes(JsonWriter& w, std::string_view name, const std::vector<OtherProcess>& processes) {
  w.key(name).begin_array();
  for (const OtherProcess& process : processes) {
    w.begin_object().member("where", process.where).member("on", process.is_on_device() ? "device" : "node");
    w.member("pid", process.pid);
    w.member("name", text_or_null(process.name)).member("user", text_or_null(process.user));
    w.member("bytes", process.bytes).member("seconds", process.seconds);
    if (!process.cores.empty()) w.member("cores", process.cores);
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
  w.end_array().key("nodes").begin_array();
  for (const NodeLoad& node : others->nodes) {
    w.begin_object().member("node", node.node).member("load", node.load);
    if (node.cores > 0) w.member("cores", node.cores);
    w.member("stolen", node.stolen).member("busy", node.busy).member("own_busy", node.own_busy);
    if (!node.quota.empty()) w.member("throttled", node.throttled).member("quota", node.quota);
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
