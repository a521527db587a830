#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "device/cuda/device_use.hpp"
#include "device/cuda/nvml_declarations.hpp"

// What NVML says of who uses a device, and how much.
namespace linkmatrix::cuda {
namespace {

using namespace nvml;

// What else is used of nvml.h.
struct UtilizationSample {
  unsigned pid;
  unsigned long long timestamp;
  unsigned sm, memory, encoder, decoder;
};
using ProcessUtilization = int(Device, UtilizationSample*, unsigned*, unsigned long long);

constexpr int not_found = 6;
constexpr int type_unsigned_long = 2, type_unsigned_long_long = 3;  // of 64 bits; what has 32 wraps within a second
constexpr unsigned all_links = ~0U, of_device = 0;
constexpr double kibibyte = 1024, percent = 0.01;
constexpr unsigned most_samples = 256;

struct Counter {
  const char* name;
  unsigned field, scope;
  double unit;  ///< bytes
};
constexpr std::array<Counter, 4> traffic_counters{{{"nvlink_out", 138, all_links, kibibyte},
                                                   {"nvlink_in", 139, all_links, kibibyte},
                                                   {"pcie_out", 197, of_device, 1},
                                                   {"pcie_in", 198, of_device, 1}}};

}  // namespace

std::map<std::string, double> Nvml::traffic(const std::string& pci) const {
  std::map<std::string, double> found;
  const auto ask = symbol<FieldValues>("nvmlDeviceGetFieldValues");
  const auto handle = device(pci);
  if (ask == nullptr || !handle) return found;
  for (const Counter& counter : traffic_counters) {
    FieldValue answer{};
    answer.field = counter.field;
    answer.scope = counter.scope;
    answer.status = -1;
    if (ask(*handle, 1, &answer) != success || answer.status != success) continue;
    if (answer.value_type == type_unsigned_long || answer.value_type == type_unsigned_long_long)
      found[counter.name] = static_cast<double>(answer.value.large) * counter.unit;
  }
  return found;
}

std::optional<std::vector<DeviceUse::Share>> Nvml::shares(const std::string& pci, unsigned long long& since) const {
  const auto ask = symbol<ProcessUtilization>("nvmlDeviceGetProcessUtilization");
  const auto handle = device(pci);
  if (ask == nullptr || !handle) return std::nullopt;
  std::vector<UtilizationSample> samples(most_samples);
  auto count = most_samples;
  const int answer = ask(*handle, samples.data(), &count, since);
  if (answer == not_found) return std::vector<DeviceUse::Share>{};  // no process used it
  if (answer != success) return std::nullopt;
  samples.resize(std::min(count, most_samples));
  std::map<unsigned, std::pair<DeviceUse::Share, int>> of_process;  // of several samples, the mean
  for (const UtilizationSample& sample : samples) {
    since = std::max(since, sample.timestamp);
    auto& [share, times] = of_process[sample.pid];
    share.pid = sample.pid;
    share.sm += sample.sm * percent;
    share.memory += sample.memory * percent;
    ++times;
  }
  std::vector<DeviceUse::Share> found;
  for (auto& [pid, one] : of_process) found.push_back({pid, one.first.sm / one.second, one.first.memory / one.second});
  return found;
}

DeviceUse NvmlUse::use_of(std::size_t device) {
  const std::string& pci = pcis_.at(device);
  DeviceUse use;
  use.traffic = nvml_.traffic(pci);
  use.shares = nvml_.shares(pci, since_.at(device));
  if (const auto processes = nvml_.known_processes(pci)) {
    use.processes.emplace();
    for (const Nvml::Process& process : *processes)
      use.processes->push_back({process.pid, process.name, process.bytes});
  }
  return use;
}

namespace {

template <class Of>
std::vector<std::string> each_of(const std::vector<Endpoint>& devices, Of of) {
  std::vector<std::string> texts;
  for (const Endpoint& device : devices) texts.push_back(device.*of);
  return texts;
}

}  // namespace

DeviceLook::DeviceLook(const Nvml& nvml, const std::vector<Endpoint>& devices)
    : node_{devices.empty() ? "" : devices.front().node},
      use_{nvml, each_of(devices, &Endpoint::pci)},
      devices_{use_,
               each_of(devices, &Endpoint::label),
               {static_cast<unsigned>(::getpid())},
               program_invocation_short_name} {}

Activity DeviceLook::now(TrafficLedger& ledger) {
  Activity now;
  processors_.add_node(now, node_);
  devices_.add(now, ledger);
  for (OtherProcess& process : now.processes)
    if (process.user.empty()) process.user = processors_.user_of(process.pid);
  return now;
}

}  // namespace linkmatrix::cuda
