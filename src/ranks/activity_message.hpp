#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/activity.hpp"

namespace linkmatrix::ranks {

/// What a rank calls itself and its node in its look, which rank 0 replaces by their labels.
constexpr const char *this_rank = "rank", *this_node = "node";

/// A look, without when it was and `Use::by`, as bytes.
std::vector<std::byte> pack(const Activity& look);

/// Throws DeviceError where the bytes are not whole.
Activity unpack_activity(std::span<const std::byte> bytes);

/// Adds a rank's look to that of all, by what the rank and its node are called.
void add_look(Activity& all, Activity look, const std::string& rank, const std::string& node);

}  // namespace linkmatrix::ranks
