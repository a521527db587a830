#pragma once

#include <optional>

#include "core/activity.hpp"
#include "core/json.hpp"

namespace linkmatrix {

/// The member `others` of a record's object, what others did in its time; none where that could not be seen.
void write_others(JsonWriter& writer, const std::optional<Activity>& others);

}  // namespace linkmatrix
