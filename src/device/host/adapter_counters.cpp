#include "device/host/adapter_counters.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.hpp"
#include "device/host/kernel_files.hpp"

namespace linkmatrix {
namespace {

namespace fs = std::filesystem;

/// Counters of damaged, lost or repeated data and of lost links. A healthy run does not increase them, even with
/// congestion. Source: Documentation/ABI/stable/sysfs-class-infiniband of Linux; hw_counters: the drivers mlx5 and
/// bnxt_re.
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
/// Counters of congestion: waiting packets, marked packets (ECN), and their notifications (CNP).
constexpr const char* waits[]{"port_xmit_wait"};
constexpr const char* notifications[]{"np_cnp_sent",    "np_ecn_marked_roce_packets",
                                      "out_of_buffer",  "rnr_nak_retry_err",
                                      "rp_cnp_handled", "rp_cnp_ignored"};
/// Source: Documentation/ABI/testing/sysfs-class-net-statistics of Linux.
constexpr const char* interface_errors[]{
    "rx_crc_errors",    "rx_errors",         "rx_fifo_errors",    "rx_frame_errors", "rx_length_errors",
    "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_errors",       "tx_fifo_errors"};
/// Counters that include packets of unknown protocols.
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

constexpr std::uint32_t most_statistics = 1 << 16;  // adapters with many queues have thousands

/// A kernel structure followed by `count` elements.
template <class Head, class Element>
class Request {
 public:
  Request(std::uint32_t command, std::size_t count) : words_((sizeof(Head) + count * sizeof(Element) + 7) / 8) {
    head()->cmd = command;
  }
  Head* head() { return reinterpret_cast<Head*>(words_.data()); }
  const Element* elements() const {
    return reinterpret_cast<const Element*>(reinterpret_cast<const std::byte*>(words_.data()) + sizeof(Head));
  }
  bool ask(int socket, const std::string& interface) {
    ifreq request{};
    if (interface.empty() || interface.size() >= sizeof request.ifr_name) return false;
    std::ranges::copy(interface, request.ifr_name);
    request.ifr_data = reinterpret_cast<char*>(words_.data());
    return ::ioctl(socket, SIOCETHTOOL, &request) == 0;
  }

 private:
  std::vector<std::uint64_t> words_;  // aligned for every kernel structure
};

using Name = std::array<char, ETH_GSTRING_LEN>;

/// Counters of the physical port: Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst of Linux.
constexpr const char* errors[]{"link_down_events_phy", "rx_crc_errors_phy", "rx_discards_phy", "rx_pcs_symbol_err_phy",
                               "rx_symbol_err_phy",    "tx_discards_phy",   "tx_errors_phy"};

/// Matches "rx_prio3_pause" and "tx_pause_ctrl_phy", but not "rx_prio3_pause_duration".
bool is_pause(const std::string& name) {
  return name == "rx_pause_ctrl_phy" || name == "tx_pause_ctrl_phy" ||
         (name.find("_prio") != std::string::npos && name.ends_with("_pause"));
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

std::map<std::string, double> ethtool_statistics(const std::string& interface) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  Request<ethtool_sset_info, std::uint32_t> sets(ETHTOOL_GSSET_INFO, 1);
  sets.head()->sset_mask = 1ULL << ETH_SS_STATS;
  if (!sets.ask(socket.number(), interface) || sets.head()->sset_mask == 0) return {};
  const std::uint32_t count = *sets.elements();
  if (count == 0 || count > most_statistics) return {};
  Request<ethtool_gstrings, Name> names(ETHTOOL_GSTRINGS, count);
  names.head()->string_set = ETH_SS_STATS;
  names.head()->len = count;
  Request<ethtool_stats, std::uint64_t> values(ETHTOOL_GSTATS, count);
  values.head()->n_stats = count;
  if (!names.ask(socket.number(), interface) || !values.ask(socket.number(), interface)) return {};
  if (names.head()->len != count || values.head()->n_stats != count) return {};  // the queues changed during the read
  std::map<std::string, double> found;
  for (std::uint32_t k = 0; k < count; ++k) {
    const Name& name = names.elements()[k];
    found[std::string(name.begin(), std::ranges::find(name, '\0'))] = static_cast<double>(values.elements()[k]);
  }
  return found;
}

AdapterCounters link_counters(const std::map<std::string, double>& statistics) {
  AdapterCounters found;
  for (const auto& [name, value] : statistics) {
    if (std::ranges::find(errors, name) != std::end(errors)) found.errors[name] = value;
    if (is_pause(name)) found.congestion[name] = value;
  }
  return found;
}

}  // namespace linkmatrix
