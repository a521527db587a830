#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "core/activity.hpp"
#include "device/device_activity.hpp"

namespace linkmatrix {

using Listed = OwnProcess::Listed;

inline constexpr unsigned self = 100;  // the number that this process knows of itself

/// A device and the list of its processes, as a driver reports it. This process may be listed.
class FakeDriver final : public DeviceUseSource {
 public:
  DeviceProcesses processes_on(std::size_t) override {
    ++asked;
    if (!tells) return std::nullopt;
    std::vector<DeviceProcess> found = processes;
    if (!tells_bytes)
      for (DeviceProcess& process : found) process.bytes.reset();
    return found;
  }

  std::optional<std::uint64_t> memory_used_on(std::size_t) override { return used; }
  std::optional<std::uint64_t> memory_total_on(std::size_t) override { return total; }

  DeviceProcess& of(unsigned pid) { return *std::ranges::find(processes, pid, &DeviceProcess::pid); }

  /// Allocates memory as this process, number `own` in the driver's list. other_actions: those of other processes at
  /// the same time.
  AllocateStep allocating_as(unsigned own, std::function<void(std::uint64_t)> other_actions = {}) {
    return [this, own, other_actions](std::uint64_t bytes) {
      steps.push_back(bytes);
      *of(own).bytes += bytes;
      if (other_actions) other_actions(bytes);
      return std::shared_ptr<void>(nullptr, [this, own, bytes](void*) { *of(own).bytes -= bytes; });
    };
  }

  std::vector<DeviceProcess> processes;
  std::vector<std::uint64_t> steps;
  std::optional<std::uint64_t> used, total;  ///< nothing: the driver does not tell
  bool tells = true, tells_bytes = true;
  int asked = 0;
};

inline const AllocateStep no_memory = [](std::uint64_t) -> std::shared_ptr<void> { throw std::bad_alloc(); };

}  // namespace linkmatrix
