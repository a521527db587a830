#include "device/device_activity.hpp"

#include <algorithm>

namespace linkmatrix {

bool DeviceActivity::numbers_are_known() const {
  return std::ranges::none_of(
      own_, [this](const OwnProcess& own) { return own.listed == OwnProcess::Listed::yes && own.pid != self_; });
}

bool DeviceActivity::is_other(std::size_t device, const DeviceProcess& process) const {
  const OwnProcess& own = own_.at(device);
  if (own.listed == OwnProcess::Listed::yes) return process.pid != own.pid;
  if (own.listed == OwnProcess::Listed::absent) return process.pid != self_;
  return own.listed == OwnProcess::Listed::no || is_mps_server(process);
}

bool DeviceActivity::has_others(std::size_t device) {
  const DeviceProcesses processes = source_.processes_on(device);
  if (!processes) return true;
  if (own_.at(device).listed == OwnProcess::Listed::unknown) return processes->size() > 1;
  return std::ranges::any_of(*processes, [&](const DeviceProcess& process) { return is_other(device, process); });
}

void DeviceActivity::add(Activity& activity) {
  bool is_untold = false;
  for (std::size_t d = 0; d < labels_.size(); ++d) {
    const std::string& label = labels_[d];
    const DeviceProcesses processes = source_.processes_on(d);
    if (!processes) {
      activity.untold.push_back(label + ": the driver does not list the processes that use it");
      is_untold = true;
      continue;
    }
    if (own_.at(d).listed == OwnProcess::Listed::no)
      activity.untold.push_back(label + ": the driver does not list this process, so others may be missing too");
    if (own_.at(d).listed == OwnProcess::Listed::unknown)
      activity.untold.push_back(label + ": this process cannot be told from other processes that use it");
    is_untold =
        is_untold || own_.at(d).listed == OwnProcess::Listed::no || own_.at(d).listed == OwnProcess::Listed::unknown;
    for (const DeviceProcess& process : *processes) {
      if (!is_other(d, process)) continue;
      activity.processes.push_back({.where = label,
                                    .pid = process.pid,
                                    .name = numbers_are_known() ? printable_name(process.name) : "",
                                    .user = "",
                                    .bytes = process.bytes,
                                    .seconds = {},
                                    .on_device = true});
    }
  }
  activity.shared = is_untold;
}

}  // namespace linkmatrix
