#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/cuda/nvml.hpp"
#include "device/device_activity.hpp"
#include "device/host/activity.hpp"

namespace linkmatrix::cuda {

/// The driver's answers on who uses devices.
class NvmlUse final : public DeviceUseSource {
 public:
  /// Keeps a reference to `nvml`.
  NvmlUse(const Nvml& nvml, const std::vector<Endpoint>& devices);

  DeviceProcesses processes_on(std::size_t device) override { return nvml_.processes(pcis_.at(device)); }

 private:
  const Nvml& nvml_;
  std::vector<std::string> pcis_;
};

/// Polls who uses the devices and the processors of this node.
class DevicePoll {
 public:
  /// Keeps a reference to `nvml`. own: this process on each of the devices.
  DevicePoll(const Nvml& nvml, const std::vector<Endpoint>& devices, std::vector<OwnProcess> own);

  Activity now();

  bool has_others(std::size_t device) { return devices_.has_others(device); }

 private:
  std::string node_;
  NvmlUse use_;
  DeviceActivity devices_;
  ProcessorLook processors_;
};

}  // namespace linkmatrix::cuda
