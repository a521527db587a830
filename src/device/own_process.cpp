#include "device/own_process.hpp"

#include <algorithm>
#include <exception>
#include <random>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr unsigned attempts = 3;  // two processes may take the same step at the same moment, but not thrice

const DeviceProcess* find(const DeviceProcesses& processes, unsigned pid) {
  if (!processes) return nullptr;
  const auto found = std::ranges::find(*processes, pid, &DeviceProcess::pid);
  return found == processes->end() ? nullptr : &*found;
}

/// The only process whose memory rose by the step; nothing where there is none, or several.
std::optional<unsigned> who_rose(const DeviceProcesses& before, const DeviceProcesses& after, std::uint64_t step) {
  std::optional<unsigned> found;
  for (const DeviceProcess& now : after.value_or(std::vector<DeviceProcess>{})) {
    const DeviceProcess* const earlier = find(before, now.pid);
    if (is_mps_server(now) || earlier == nullptr || !earlier->bytes || now.bytes != *earlier->bytes + step) continue;
    if (found) return std::nullopt;
    found = now.pid;
  }
  return found;
}

std::optional<unsigned> by_handshake(DeviceUseSource& source, std::size_t device, const AllocateStep& allocate) {
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    const std::uint64_t step = step_bytes(attempt);
    const DeviceProcesses before = source.processes_on(device);
    if (!before || std::ranges::none_of(*before, [](const auto& one) { return one.bytes.has_value(); }))
      return std::nullopt;
    try {
      const auto held = allocate(step);
      if (const auto pid = who_rose(before, source.processes_on(device), step)) return pid;
    } catch (const std::exception&) {  // no memory is left: other processes hold it
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_mps_server(const DeviceProcess& process) { return process.name == "nvidia-cuda-mps-server"; }

std::uint64_t step_bytes(unsigned attempt) {
  static const unsigned first = std::random_device()();
  constexpr std::uint64_t least = 2, sizes = 31, stride = 11;  // a prime number of sizes: attempts differ
  return (least + (first + attempt * stride) % sizes) * 2 * MiB;
}

OwnProcess find_own_process(DeviceUseSource& source, std::size_t device, const DeviceProcesses& before, unsigned self,
                            const AllocateStep& allocate) {
  using Listed = OwnProcess::Listed;
  if (const auto pid = by_handshake(source, device, allocate)) return {Listed::yes, *pid};
  const DeviceProcesses now = source.processes_on(device);
  if (!now) return {};
  std::vector<unsigned> fresh;
  for (const DeviceProcess& process : *now)
    if (before && find(before, process.pid) == nullptr && !is_mps_server(process)) fresh.push_back(process.pid);
  if (fresh.size() == 1) return {Listed::yes, fresh.front()};
  const bool is_self = find(now, self) != nullptr && (!before || find(before, self) == nullptr);
  if (is_self) return {Listed::yes, self};
  return {before && fresh.empty() ? Listed::no : Listed::unknown, 0};
}

}  // namespace linkmatrix
