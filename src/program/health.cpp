#include "program/health.hpp"

#include <algorithm>

namespace linkmatrix {
namespace {

void close_items(std::vector<Health::Item>& items, const std::map<std::string, double>& after) {
  for (const auto& [name, value] : after) {
    const auto item = std::find_if(items.begin(), items.end(), [&n = name](const auto& i) { return i.name == n; });
    if (item != items.end())
      item->after = value;
    else
      items.push_back({name, std::nullopt, value});
  }
}

}  // namespace

std::vector<Health> open_health(std::span<const Endpoint> devices, std::span<const DeviceState> states) {
  std::vector<Health> health;
  for (std::size_t d = 0; d < std::min(devices.size(), states.size()); ++d) {
    Health& one = health.emplace_back(Health{devices[d].label, {}, {}});
    for (const auto& [name, value] : states[d].counters) one.counters.push_back({name, value, std::nullopt});
    for (const auto& [name, value] : states[d].readings) one.readings.push_back({name, value, std::nullopt});
  }
  return health;
}

void close_health(std::span<Health> health, std::span<const DeviceState> states) {
  for (std::size_t d = 0; d < std::min(health.size(), states.size()); ++d) {
    close_items(health[d].counters, states[d].counters);
    close_items(health[d].readings, states[d].readings);
  }
}

}  // namespace linkmatrix
