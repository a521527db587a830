#include "device/cuda/device_use.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

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

/// Returns the devices of a run, followed by the other GPUs of the node with labels "NODE:gpu3" (NVML's numbers).
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

/// Appends `absent` for the GPUs outside the run, on which this process has no context.
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

HealthReader::HealthReader(Nvml& nvml, const std::vector<Endpoint>& devices) : nvml_{nvml}, xids_(devices.size()) {
  for (const Endpoint& device : devices) {
    labels_.push_back(device.label);
    pcis_.push_back(device.pci);
  }
  has_events_ = nvml_.watch_events(pcis_);
}

std::vector<DeviceState> HealthReader::states() {
  for (const auto& [device, xid] : nvml_.take_events()) ++xids_[device]["xid_" + std::to_string(xid)];
  std::vector<DeviceState> states;
  for (std::size_t d = 0; d < pcis_.size(); ++d) {
    DeviceState state{nvml_.counters(pcis_[d]), nvml_.readings(pcis_[d])};
    if (has_events_) state.counters["xid"] = 0;
    for (const auto& [name, count] : xids_[d]) {
      state.counters[name] = count;
      state.counters["xid"] += count;
    }
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<std::string> HealthReader::throttle_reasons() const {
  std::vector<std::string> reasons;
  for (std::size_t d = 0; d < pcis_.size(); ++d)
    for (const std::string& reason : nvml_.throttle_reasons(pcis_[d])) reasons.push_back(labels_[d] + ": " + reason);
  return reasons;
}

}  // namespace linkmatrix::cuda
