#include "device/own_process.hpp"

#include <algorithm>
#include <new>
#include <random>

#include "core/units.hpp"

namespace linkmatrix {
namespace {

constexpr unsigned attempts = 5;  // another process may allocate the same size at the same time

const DeviceProcess* find(const DeviceProcesses& processes, unsigned pid) {
  if (!processes) return nullptr;
  const auto found = std::ranges::find(*processes, pid, &DeviceProcess::pid);
  return found == processes->end() ? nullptr : &*found;
}

/// Returns whether a process may be this process. known: the list before this process had a context.
bool may_be_own(const DeviceProcess& process, const DeviceProcesses& known) {
  return !is_mps_server(process) && find(known, process.pid) == nullptr;
}

/// Returns the process whose memory grew by `step` bytes; nothing if none or several did.
std::optional<unsigned> grown_process(const DeviceProcesses& known, const DeviceProcesses& before,
                                      const DeviceProcesses& after, std::uint64_t step) {
  std::optional<unsigned> found;
  for (const DeviceProcess& now : after.value_or(std::vector<DeviceProcess>{})) {
    const DeviceProcess* const earlier = find(before, now.pid);
    if (!may_be_own(now, known) || earlier == nullptr || !earlier->bytes || now.bytes != *earlier->bytes + step)
      continue;
    if (found) return std::nullopt;
    found = now.pid;
  }
  return found;
}

struct Handshake {
  bool ran = false;  ///< false: the driver reports no memory sizes, or no memory is free
  std::optional<unsigned> own{};
};

Handshake shake_hands(DeviceUseSource& source, std::size_t device, const DeviceProcesses& known,
                      const AllocateStep& allocate) {
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    const std::uint64_t step = step_bytes();
    const DeviceProcesses before = source.processes_on(device);
    if (!before || std::ranges::none_of(*before, [](const auto& one) { return one.bytes.has_value(); })) return {};
    try {
      const auto held = allocate(step);
      if (const auto pid = grown_process(known, before, source.processes_on(device), step)) return {true, pid};
    } catch (const std::bad_alloc&) {  // other processes hold the memory
      return {};
    }
  }
  return {true};
}

}  // namespace

bool is_mps_server(const DeviceProcess& process) { return process.name == "nvidia-cuda-mps-server"; }

std::uint64_t step_bytes() {
  constexpr std::uint64_t least = 2, most = 32;
  std::random_device random;
  return std::uniform_int_distribution<std::uint64_t>(least, most)(random) * 2 * MiB;
}

OwnProcess find_own_process(DeviceUseSource& source, std::size_t device, const DeviceProcesses& before, unsigned self,
                            const AllocateStep& allocate) {
  using Listed = OwnProcess::Listed;
  const Handshake handshake = shake_hands(source, device, before, allocate);
  if (handshake.own) return {Listed::yes, *handshake.own};
  const DeviceProcesses now = source.processes_on(device);
  if (!now) return {};
  std::vector<unsigned> fresh;
  for (const DeviceProcess& process : *now)
    if (before && may_be_own(process, before)) fresh.push_back(process.pid);
  if (before && fresh.empty()) return {Listed::no, 0};
  if (handshake.ran) return {};
  if (fresh.size() == 1) return {Listed::yes, fresh.front()};
  const DeviceProcess* const same_number = find(now, self);
  if (same_number != nullptr && may_be_own(*same_number, before)) return {Listed::yes, self};
  return {};
}

}  // namespace linkmatrix
