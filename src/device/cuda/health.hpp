#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/backend.hpp"
#include "device/cuda/nvml.hpp"

namespace linkmatrix::cuda {

/// What the driver says of the devices' health; nothing where it does not answer.
class HealthReader {
 public:
  /// Keeps a reference to `nvml`.
  HealthReader(Nvml& nvml, const std::vector<Endpoint>& devices);

  /// Of every device, in order; Xid events count from the construction.
  std::vector<DeviceState> states();

  /// "gpu3: power cap", for every device and reason.
  std::vector<std::string> throttle_reasons() const;

 private:
  Nvml& nvml_;
  std::vector<std::string> labels_, pcis_;
  bool has_events_;
  std::vector<std::map<std::string, double>> xids_;  ///< "xid_79" → how often, for each device
};

}  // namespace linkmatrix::cuda
