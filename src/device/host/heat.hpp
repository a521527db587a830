#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/heating.hpp"
#include "device/host/endpoint_state.hpp"
#include "device/host/parts.hpp"

namespace linkmatrix {

/// Heats the first core of each available device until the deadline of `run`. flips: index of the device with a
/// simulated bit flip. Returns one result per device. Throws TimedOut if a thread does not end.
std::vector<Heated> heat_endpoints(std::span<HostEndpointState> endpoints, double seconds, std::optional<int> flips,
                                   const std::shared_ptr<HostRun>& run, Deadline deadline);

}  // namespace linkmatrix
