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

/// The devices of a run, and behind them the other GPUs of their node, "NODE:gpu3" by the numbers of NVML.
std::vector<Endpoint> with_other_gpus(const Nvml& nvml, const std::vector<Endpoint>& devices) {
  std::vector<Endpoint> all = devices;
  const bool are_known = std::ranges::none_of(devices, [](const Endpoint& one) { return one.pci.empty(); });
  if (devices.empty() || !are_known) return all;
  for (Endpoint& gpu : gpus_of_node(nvml)) {
    if (std::ranges::any_of(devices, [&](const Endpoint& one) { return same_device(one.pci, gpu.pci); })) continue;
    gpu.label = devices.front().node + ":" + gpu.label;
    all.push_back(std::move(gpu));
  }
  return all;
}

/// A process has no context on the devices behind the first ones, of which `own` reports.
std::vector<OwnProcess> with_absent(std::vector<OwnProcess> own, std::size_t devices) {
  own.resize(devices, {OwnProcess::Listed::absent, 0});
  return own;
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
      gpus_{with_other_gpus(nvml, devices)},
      use_{nvml, gpus_},
      devices_{use_, each_of(gpus_, &Endpoint::label), with_absent(std::move(own), gpus_.size()),
               static_cast<unsigned>(::getpid())} {}

Activity DevicePoll::now() {
  Activity now;
  processors_.add_node(now, node_);
  devices_.add(now);
  for (OtherProcess& process : now.processes)
    if (process.user.empty() && !process.name.empty()) process.user = processors_.user_of(process.pid);
  return now;
}

}  // namespace linkmatrix::cuda
