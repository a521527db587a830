#pragma once

#include <string>

#include "device/cuda/device_use.hpp"
#include "device/cuda/nvml.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix::ranks {

/// State of a rank's device, from NVML.
class NvmlWatch final : public DeviceWatch {
 public:
  /// Creates a context on the device. Throws CudaError if this process cannot use the device, MemoryHeld if other
  /// processes hold its memory.
  explicit NvmlWatch(const Endpoint& device);

  DeviceState state() override { return health_.states().front(); }
  void poll(Activity& poll, const std::string& label) override;
  unsigned driver_pid() const override { return own_.pid; }

 private:
  cuda::Nvml nvml_;
  cuda::HealthReader health_;
  cuda::NvmlUse use_;
  OwnProcess own_;
};

}  // namespace linkmatrix::ranks
