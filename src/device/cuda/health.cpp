#include "device/cuda/health.hpp"

#include <future>

namespace linkmatrix::cuda {

HealthReader::HealthReader(Nvml& nvml, const std::vector<Endpoint>& devices) : nvml_{nvml}, xids_(devices.size()) {
  for (const Endpoint& device : devices) {
    labels_.push_back(device.label);
    pcis_.push_back(device.pci);
  }
  has_events_ = nvml_.watch_events(pcis_);
}

std::vector<DeviceState> HealthReader::states() {
  for (const auto& [device, xid] : nvml_.take_events()) ++xids_[device]["xid_" + std::to_string(xid)];
  // The driver takes tens of milliseconds for a device, and asks them at once.
  std::vector<std::future<DeviceState>> asked;
  for (const std::string& pci : pcis_)
    asked.push_back(std::async(std::launch::async, [this, &pci] {
      return DeviceState{nvml_.counters(pci), nvml_.readings(pci)};
    }));
  std::vector<DeviceState> states;
  for (std::size_t d = 0; d < pcis_.size(); ++d) {
    DeviceState state = asked[d].get();
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
