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

/// Those of all devices, made when they are first needed.
class Heaters {
 public:
  /// Heats the devices that take part for so long, all at once; `flips`: the number of one that computes a wrong bit.
  /// Throws TimedOut where a batch does not end: its device hangs and is broken, CudaError where one fails.
  std::vector<Heated> heat(std::span<EndpointState> devices, double seconds, std::optional<int> flips,
                           Deadline deadline);

 private:
  std::map<int, std::unique_ptr<Heater>> heaters_;  ///< by number of the device
  std::optional<std::uint64_t> expected_;
};

}  // namespace linkmatrix::cuda
