#include "device/host/ethtool.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/descriptor.hpp"

namespace linkmatrix {
namespace {

constexpr std::uint32_t most_statistics = 1 << 16;  // adapters of many queues have thousands

/// One of the kernel's structures, with room for so many elements behind it.
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
  std::vector<std::uint64_t> words_;  // aligned for all of them
};

using Name = std::array<char, ETH_GSTRING_LEN>;

/// Of the physical port: Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst of Linux.
constexpr const char* errors[]{"link_down_events_phy", "rx_crc_errors_phy", "rx_discards_phy", "rx_pcs_symbol_err_phy",
                               "rx_symbol_err_phy",    "tx_discards_phy",   "tx_errors_phy"};

/// "rx_prio3_pause", "tx_pause_ctrl_phy", but not "rx_prio3_pause_duration", which rises with it.
bool is_pause(const std::string& name) {
  return name == "rx_pause_ctrl_phy" || name == "tx_pause_ctrl_phy" ||
         (name.find("_prio") != std::string::npos && name.ends_with("_pause"));
}

}  // namespace

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
  if (names.head()->len != count || values.head()->n_stats != count) return {};  // its queues were changed meanwhile
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
