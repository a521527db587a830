#include "device/host/adapter_counters.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// Data that was damaged or lost on the way, or had to be sent again, and links that went down: a healthy run has none.
/// Names and meanings: Documentation/ABI/stable/sysfs-class-infiniband of Linux, and of hw_counters those of mlx5's and
/// bnxt_re's drivers. Not here: what a congested receiver or a switch that floods makes rise without any fault.
constexpr const char* fabric_errors[]{"excessive_buffer_overrun_errors",
                                      "link_downed",
                                      "link_error_recovery",
                                      "local_link_integrity_errors",
                                      "port_rcv_constraint_errors",
                                      "port_rcv_errors",
                                      "port_rcv_remote_physical_errors",
                                      "port_xmit_constraint_errors",
                                      "port_xmit_discards",
                                      "symbol_error"};
constexpr const char* hardware_errors[]{"implied_nak_seq_err",     "local_ack_timeout_err", "out_of_sequence",
                                        "packet_seq_err",          "roce_adp_retrans",      "roce_adp_retrans_to",
                                        "roce_slow_restart_trans", "rx_icrc_encapsulated"};
/// Signs of congestion: packets that wait, that are marked, and notifications of marked ones (CNP).
constexpr const char* waits[]{"port_xmit_wait"};
constexpr const char* notifications[]{"np_cnp_sent",    "np_ecn_marked_roce_packets",
                                      "out_of_buffer",  "rnr_nak_retry_err",
                                      "rp_cnp_handled", "rp_cnp_ignored"};
/// Names and meanings: Documentation/ABI/testing/sysfs-class-net-statistics of Linux.
constexpr const char* interface_errors[]{
    "rx_crc_errors",    "rx_errors",         "rx_fifo_errors",    "rx_frame_errors", "rx_length_errors",
    "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_errors",       "tx_fifo_errors"};
/// Of which a receiver throws away what it does not know, too.
constexpr const char* drops[]{"rx_dropped", "tx_dropped"};

void add(std::map<std::string, double>& counts, const fs::path& folder, std::span<const char* const> names) {
  for (const char* name : names)
    if (const auto value = number_of(folder / name)) counts[name] = *value;
}

std::vector<Health::Item> risen(const std::map<std::string, double>& before,
                                const std::map<std::string, double>& after) {
  std::vector<Health::Item> items;
  for (const auto& [name, value] : after)
    if (const auto was = before.find(name); was != before.end() && value > was->second)
      items.push_back({name, was->second, value});
  return items;
}

std::string port_of(const AdapterPort& port) {
  const auto number = port.place.find("port");
  return number == port.place.end() ? "" : number->second;
}

}  // namespace

AdapterCounters fabric_counters(const fs::path& port) {
  AdapterCounters found;
  add(found.errors, port / "counters", fabric_errors);
  add(found.errors, port / "hw_counters", hardware_errors);
  add(found.congestion, port / "counters", waits);
  add(found.congestion, port / "hw_counters", notifications);
  return found;
}

AdapterCounters interface_counters(const fs::path& interface) {
  AdapterCounters found;
  add(found.errors, interface / "statistics", interface_errors);
  add(found.congestion, interface / "statistics", drops);
  constexpr const char* losses_of_carrier[]{"carrier_down_count"};
  add(found.errors, interface, losses_of_carrier);
  return found;
}

std::vector<Health> adapter_health(const std::vector<NodeFacts>& before, const std::vector<NodeFacts>& after) {
  std::vector<Health> health;
  for (const NodeFacts& node : after) {
    const auto known = std::ranges::find(before, node.name, &NodeFacts::name);
    if (known == before.end() || known->boot != node.boot) continue;
    for (const AdapterPort& port : node.adapters) {
      const std::string number = port_of(port);
      const auto was = std::ranges::find_if(known->adapters, [&](const AdapterPort& other) {
        return other.name == port.name && port_of(other) == number;
      });
      if (was == known->adapters.end()) continue;
      Health one{
          (after.size() > 1 ? node.name + ":" : "") + port.name + (number.size() && number != "1" ? ":" + number : ""),
          risen(was->counters.errors, port.counters.errors), risen(was->counters.congestion, port.counters.congestion)};
      if (!one.counters.empty() || !one.readings.empty()) health.push_back(std::move(one));
    }
  }
  return health;
}

}  // namespace linkmatrix
