#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/activity.hpp"
#include "device/own_process.hpp"

namespace linkmatrix {

/// Finds processes of other runs with a context on the devices of this process.
class DeviceActivity {
 public:
  /// Keeps a reference to `source`. labels, own: label of each device, and how its driver lists this process. self: the
  /// process number of this process (getpid).
  DeviceActivity(DeviceUseSource& source, std::vector<std::string> labels, std::vector<OwnProcess> own, unsigned self)
      : source_{source}, labels_{std::move(labels)}, own_{std::move(own)}, self_{self} {}

  /// Adds the other processes on all devices to a poll.
  void add(Activity& activity);

  /// Returns whether other processes hold at least a quarter of a device's memory. If the driver reports no sizes,
  /// returns whether another process exists; if the driver reports nothing, returns true.
  bool has_other_memory_holders(std::size_t device);

 private:
  /// Returns whether the driver uses the process numbers of this namespace.
  bool numbers_are_known() const;
  bool is_other(std::size_t device, const DeviceProcess& process) const;
  /// Returns the bytes of contexts whose processes the driver does not list, because they are outside this PID
  /// namespace. Nothing if there are none, or if the driver does not report enough.
  std::optional<std::uint64_t> unlisted_memory(std::size_t device, const std::vector<DeviceProcess>& processes);

  DeviceUseSource& source_;
  std::vector<std::string> labels_;
  std::vector<OwnProcess> own_;
  unsigned self_;
};

}  // namespace linkmatrix
