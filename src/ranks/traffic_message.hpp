#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include "device/host/adapter_traffic.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// What a rank itself has moved over the network since it started, and what the adapters of its node have counted, as
/// far as there is room for them.
struct TrafficMessage {
  struct Adapter {
    std::array<char, 32> name{};
    double sent = 0, received = 0;
    bool used = false;
    double rate = 0;
  };
  double sent = 0, received = 0;       ///< bytes of messages to and from ranks on other nodes, without any heads
  bool known = true;                   ///< whether that is all since the rank was asked before
  std::array<Adapter, 32> adapters{};  ///< those that have a name

  void set(std::span<const AdapterTraffic> counted) {
    auto next = adapters.begin();
    for (const AdapterTraffic& one : counted) {
      if (next == adapters.end()) return;
      put(next->name, one.name);
      next->sent = one.sent, next->received = one.received;
      next->rate = one.rate;
      next++->used = one.used;
    }
  }
};
static_assert(std::is_trivially_copyable_v<TrafficMessage>);

}  // namespace linkmatrix::ranks
