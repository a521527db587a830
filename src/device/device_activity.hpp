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

/// Which other processes have a context on the devices of this process.
class DeviceActivity {
 public:
  /// Keeps a reference to the source. own: this process on each of the devices. self: the number that this process
  /// knows of itself.
  DeviceActivity(DeviceUseSource& source, std::vector<std::string> labels, std::vector<OwnProcess> own, unsigned self)
      : source_{source}, labels_{std::move(labels)}, own_{std::move(own)}, self_{self} {}

  /// Adds to a poll.
  void add(Activity& activity);

  /// Whether other processes, listed or not, hold so much of a device's memory that the run may lack it: a quarter of
  /// the memory. Where the driver does not report how much, whether there is another process; true where the driver
  /// reports nothing.
  bool others_hold_memory(std::size_t device);

 private:
  /// Whether the driver's numbers are those of this process's namespace: else they name no process here.
  bool numbers_are_known() const;
  bool is_other(std::size_t device, const DeviceProcess& process) const;
  /// Memory of contexts that the driver does not list: of processes outside of this process's pid namespace. Nothing
  /// where there is none, or where the driver does not report all that this takes.
  std::optional<std::uint64_t> unlisted_memory(std::size_t device, const std::vector<DeviceProcess>& processes);

  DeviceUseSource& source_;
  std::vector<std::string> labels_;
  std::vector<OwnProcess> own_;
  unsigned self_;
};

}  // namespace linkmatrix
