#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "core/heating.hpp"
#include "device/cuda/endpoint_state.hpp"
#include "device/cuda/heating.hpp"

namespace linkmatrix::cuda {

/// Heaters of all devices, created on demand.
class Heaters {
 public:
  /// Heats all available devices concurrently for some seconds. flips: number of the device with a simulated bit flip.
  /// Throws TimedOut if a batch does not end, because its device hangs; CudaError if a device fails.
  std::vector<Heated> heat(std::span<EndpointState> devices, double seconds, std::optional<int> flips,
                           Deadline deadline);

 private:
  std::map<int, std::unique_ptr<Heater>> heaters_;  ///< heaters by device number
  std::optional<std::uint64_t> expected_;
};

}  // namespace linkmatrix::cuda
