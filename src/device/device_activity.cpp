#include "device/device_activity.hpp"

#include <algorithm>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

// Used memory minus the memory of listed processes, measured on H200 with driver 580: 0 on an idle device, 4 MiB just
// after a context was closed, 9 MiB with one listed process, 533 MiB with one unlisted context.
constexpr std::uint64_t unexplained_of_device = 64 * MiB, unexplained_of_process = 16 * MiB;

// Fraction of the memory that other processes must hold to explain a failed allocation. An idle context holds 300 MiB.
constexpr double least_held_share = 0.25;

}  // namespace

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

std::optional<std::uint64_t> DeviceActivity::unlisted_memory(std::size_t device,
                                                             const std::vector<DeviceProcess>& processes) {
  const OwnProcess& own = own_.at(device);
  const bool is_listed = own.listed == OwnProcess::Listed::yes &&
                         std::ranges::find(processes, own.pid, &DeviceProcess::pid) != processes.end();
  if (!is_listed && own.listed != OwnProcess::Listed::absent) return std::nullopt;
  std::uint64_t explained = 0;
  for (const DeviceProcess& process : processes) {
    if (!process.bytes) return std::nullopt;
    explained += *process.bytes;
  }
  const auto used = source_.memory_used_on(device);
  const std::uint64_t unexplained = unexplained_of_device + processes.size() * unexplained_of_process;
  if (!used || *used <= explained + unexplained) return std::nullopt;
  return *used - explained;
}

bool DeviceActivity::has_other_memory_holders(std::size_t device) {
  const DeviceProcesses processes = source_.processes_on(device);
  if (!processes) return true;
  const bool is_unknown = own_.at(device).listed == OwnProcess::Listed::unknown;
  std::vector<std::optional<std::uint64_t>> held;
  for (const DeviceProcess& process : *processes)
    if (is_unknown || is_other(device, process)) held.push_back(process.bytes);
  if (is_unknown && !held.empty()) held.erase(std::ranges::min_element(held));  // one of them may be this process
  if (const auto bytes = unlisted_memory(device, *processes)) held.push_back(bytes);
  const auto total = source_.memory_total_on(device);
  const bool are_known = std::ranges::all_of(held, [](const auto& bytes) { return bytes.has_value(); });
  if (!total || !are_known) return !held.empty();
  std::uint64_t sum = 0;
  for (const auto& bytes : held) sum += *bytes;
  return static_cast<double>(sum) >= least_held_share * static_cast<double>(*total);
}

void DeviceActivity::add(Activity& activity) {
  bool is_incomplete = false;
  for (std::size_t d = 0; d < labels_.size(); ++d) {
    const std::string& label = labels_[d];
    const DeviceProcesses processes = source_.processes_on(d);
    if (!processes) {
      activity.untold.push_back(label + ": the driver does not list the processes that use it");
      is_incomplete = true;
      continue;
    }
    if (own_.at(d).listed == OwnProcess::Listed::no)
      activity.untold.push_back(label +
                                ": the driver does not list this process, so other processes may be missing too");
    if (own_.at(d).listed == OwnProcess::Listed::unknown)
      activity.untold.push_back(label + ": this process cannot be distinguished from other processes on the device");
    is_incomplete = is_incomplete || own_.at(d).listed == OwnProcess::Listed::no ||
                    own_.at(d).listed == OwnProcess::Listed::unknown;
    const auto add_other = [&](unsigned pid, const std::string& name, std::optional<std::uint64_t> bytes) {
      activity.processes.push_back(
          {.where = label, .pid = pid, .name = name, .user = "", .bytes = bytes, .seconds = {}, .on_device = true});
    };
    for (const DeviceProcess& process : *processes)
      if (is_other(d, process))
        add_other(process.pid, numbers_are_known() ? printable_name(process.name) : "", process.bytes);
    if (const auto bytes = unlisted_memory(d, *processes)) add_other(0, "", bytes);
    // Only one of the remaining processes can be this process.
    const auto remaining =
        std::ranges::count_if(*processes, [&](const auto& process) { return !is_other(d, process); });
    if (own_.at(d).listed == OwnProcess::Listed::unknown && remaining > 1) add_other(0, "", {});
  }
  activity.shared = is_incomplete;
}

}  // namespace linkmatrix
