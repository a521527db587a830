#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device/cuda/nvml.hpp"
#include "device/device_activity.hpp"
#include "device/host/activity.hpp"

namespace linkmatrix::cuda {

/// The driver's answers on who uses devices.
class NvmlUse final : public DeviceUseSource {
 public:
  /// Keeps a reference to `nvml`. pcis: of the devices, in their order.
  NvmlUse(const Nvml& nvml, std::vector<std::string> pcis)
      : nvml_{nvml}, pcis_{std::move(pcis)}, since_(pcis_.size()) {}

  DeviceUse use_of(std::size_t device) override;

 private:
  const Nvml& nvml_;
  std::vector<std::string> pcis_;
  std::vector<unsigned long long> since_;  ///< the driver's time of the last sample of each
};

/// What is done on the devices and the processors of this node.
class DeviceLook {
 public:
  /// Keeps a reference to `nvml`.
  DeviceLook(const Nvml& nvml, const std::vector<Endpoint>& devices);

  Activity now(TrafficLedger& ledger);

 private:
  std::string node_;
  NvmlUse use_;
  DeviceActivity devices_;
  ProcessorLook processors_;
};

}  // namespace linkmatrix::cuda
