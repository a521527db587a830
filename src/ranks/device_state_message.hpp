#pragma once

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/machine.hpp"
#include "ranks/messages.hpp"

namespace linkmatrix::ranks {

/// A DeviceState as a message, as far as there is room for it.
struct DeviceStateMessage {
  struct Item {
    std::array<char, 32> name{};
    double value = 0;
    bool is_counter = false;
  };
  std::array<Item, 64> items{};  ///< those that have a name

  explicit DeviceStateMessage(const DeviceState& state = {}) {
    auto next = items.begin();
    for (const bool is_counter : {true, false})
      for (const auto& [name, value] : is_counter ? state.counters : state.readings) {
        if (next == items.end()) return;
        put(next->name, name);
        next->value = value;
        next++->is_counter = is_counter;
      }
  }

  DeviceState state() const {
    DeviceState state;
    for (const Item& item : items)
      if (item.name.front() != 0) (item.is_counter ? state.counters : state.readings)[text_of(item.name)] = item.value;
    return state;
  }
};
static_assert(std::is_trivially_copyable_v<DeviceStateMessage>);

}  // namespace linkmatrix::ranks
