#include <unistd.h>

#include <algorithm>
#include <iterator>
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

std::vector<Endpoint> gpus_of_node(const Nvml& nvml) {
  std::vector<Endpoint> found;
  const std::vector<std::string> pcis = nvml.pcis();
  for (std::size_t number = 0; number < pcis.size(); ++number) {
    if (pcis[number].empty()) continue;
    Endpoint& gpu = found.emplace_back();
    gpu.label = "gpu" + std::to_string(number);
    gpu.pci = pcis[number];
  }
  return found;
}

}  // namespace

NvmlUse::NvmlUse(const Nvml& nvml, const std::vector<Endpoint>& devices)
    : nvml_{nvml}, pcis_{each_of(devices, &Endpoint::pci)} {}

NodeGpus::NodeGpus() : gpus_{gpus_of_node(nvml_)}, use_{nvml_, gpus_} {}

void NodeGpus::add(Activity& now, const std::string& node) {
  std::vector<std::string> labels = each_of(gpus_, &Endpoint::label);
  for (std::string& label : labels) label = node + ":" + label;
  const std::vector<OwnProcess> own(labels.size(), {OwnProcess::Listed::absent, 0});
  Activity gpus;
  DeviceActivity(use_, std::move(labels), own, static_cast<unsigned>(::getpid())).add(gpus);
  std::ranges::move(gpus.processes, std::back_inserter(now.processes));
  std::ranges::move(gpus.untold, std::back_inserter(now.untold));
}

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
