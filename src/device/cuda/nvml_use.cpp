#include <unistd.h>

#include <utility>

#include "device/cuda/device_use.hpp"

namespace linkmatrix::cuda {
namespace {

template <class Of>
std::vector<std::string> each_of(const std::vector<Endpoint>& devices, Of of) {
  std::vector<std::string> texts;
  for (const Endpoint& device : devices) texts.push_back(device.*of);
  return texts;
}

}  // namespace

NvmlUse::NvmlUse(const Nvml& nvml, const std::vector<Endpoint>& devices)
    : nvml_{nvml}, pcis_{each_of(devices, &Endpoint::pci)} {}

DevicePoll::DevicePoll(const Nvml& nvml, const std::vector<Endpoint>& devices, std::vector<OwnProcess> own)
    : node_{devices.empty() ? "" : devices.front().node},
      use_{nvml, devices},
      devices_{use_, each_of(devices, &Endpoint::label), std::move(own), static_cast<unsigned>(::getpid())} {}

Activity DevicePoll::now() {
  Activity now;
  processors_.add_node(now, node_);
  devices_.add(now);
  for (OtherProcess& process : now.processes)
    if (process.user.empty() && !process.name.empty()) process.user = processors_.user_of(process.pid);
  return now;
}

}  // namespace linkmatrix::cuda
