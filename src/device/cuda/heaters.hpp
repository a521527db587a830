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
  /// Heats all available devices concurrently for `seconds`. flips: index of the device with a simulated bit flip.
  /// Returns one result per device. Throws TimedOut if a device hangs, CudaError if a device fails.
  std::vector<Heated> heat(std::span<EndpointState> devices, double seconds, std::optional<int> flips,
                           Deadline deadline);

 private:
  std::map<int, std::unique_ptr<Heater>> heaters_;  ///< by device index
  std::optional<std::uint64_t> expected_;           ///< expected_checksum(Heater::n), once calculated
};

}  // namespace linkmatrix::cuda
