#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/activity.hpp"

namespace linkmatrix {

/// Returns the usage of a label in a poll.
inline const Use& use_of(const Activity& activity, const std::string& label, const std::string& of) {
  const auto found = std::ranges::find_if(activity.uses, [&](const Use& u) { return u.label == label && u.of == of; });
  if (found == activity.uses.end()) throw std::runtime_error("no use of " + label + " " + of);
  return *found;
}

}  // namespace linkmatrix
