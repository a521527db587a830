#pragma once

#include <optional>
#include <string>

#include "device/cuda/device_use.hpp"
#include "device/cuda/health.hpp"
#include "device/cuda/nvml.hpp"
#include "device/traffic_ledger.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// A rank's device, as its driver sees it.
class NvmlWatch final : public DeviceWatch {
 public:
  /// Throws CudaError where this process cannot use the device.
  explicit NvmlWatch(const Endpoint& device);

  DeviceState state() override { return health_.states().front(); }

  /// What ranks moved themselves is counted by nobody.
  void look(Activity& look, const std::string& label, const NodeRanks& ranks) override;

 private:
  cuda::Nvml nvml_;
  cuda::HealthReader health_;
  cuda::NvmlUse use_;
  TrafficLedger moved_;
  std::optional<DeviceActivity> others_;  ///< once rank 0 asks what they do
};

}  // namespace linkmatrix::ranks
