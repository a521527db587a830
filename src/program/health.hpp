#pragma once

#include <span>
#include <vector>

#include "core/machine.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// What the devices say of themselves before the run. States without a device are left out: a machine may know more
/// than is measured.
std::vector<Health> open_health(std::span<const Endpoint> devices, std::span<const DeviceState> states);

/// Adds what they say after it; what was not known before is added.
void close_health(std::span<Health> health, std::span<const DeviceState> states);

}  // namespace linkmatrix
