#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix::ranks {

/// What a node says of itself and of its adapters, as bytes.
std::vector<std::byte> pack(const NodeFacts& node);

/// Throws DeviceError where the bytes are not whole.
NodeFacts unpack(std::span<const std::byte> bytes);

}  // namespace linkmatrix::ranks
