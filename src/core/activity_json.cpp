#include "core/activity_json.hpp"

#include "core/machine_json.hpp"

namespace linkmatrix {

void write_others(JsonWriter& w, const std::optional<Activity>& others) {
  if (!others) return;
  w.key("others").begin_object().member("seconds", others->seconds);
  w.member("shared", others->shared).key("uses").begin_array();
  for (const Use& use : others->uses) {
    w.begin_object().member("label", use.label).member("of", use.of);
    w.member("counted", use.counted).member("own", use.own);
    if (!use.by.empty()) w.member("by", use.by);
    if (!use.cores.empty()) w.member("cores", use.cores).member("others", use.others);
    w.end_object();
  }
  w.end_array().key("nodes").begin_array();
  for (const NodeLoad& node : others->nodes) {
    w.begin_object().member("node", node.node).member("load", node.load).member("stalled", node.stalled);
    w.member("stolen", node.stolen).member("busy", node.busy).member("own_busy", node.own_busy);
    if (!node.quota.empty()) w.member("throttled", node.throttled).member("quota", node.quota);
    w.end_object();
  }
  w.end_array().key("processes").begin_array();
  for (const OtherProcess& process : others->processes) {
    w.begin_object().member("where", process.where).member("on", process.is_on_device() ? "device" : "node");
    w.member("pid", process.pid);
    w.member("name", text_or_null(process.name)).member("user", text_or_null(process.user));
    w.member("bytes", process.bytes).member("seconds", process.seconds);
    if (!process.cores.empty()) w.member("cores", process.cores);
    w.end_object();
  }
  w.end_array().member("untold", others->untold).end_object();
}

}  // namespace linkmatrix
