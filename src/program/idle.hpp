#pragma once

#include <optional>
#include <string>

#include "core/activity.hpp"
#include "core/clock.hpp"
#include "core/machine.hpp"

namespace linkmatrix {

/// What came of waiting for a machine that nobody else uses.
struct IdleWait {
  Activity last;                    ///< look
  Activity between;                 ///< the last two looks, which are half a second apart
  std::optional<std::string> busy;  ///< who still used it then
};

/// Looks at a machine, on which this run does nothing, until nobody else uses it or `patience` has passed. Throws
/// TimedOut when `end` has.
IdleWait wait_until_idle(Machine& machine, Deadline patience, Deadline end, double apart = 0.5);

/// Why nothing is measured, with the remedy.
std::string busy_sentence(const std::string& who, double waited);

}  // namespace linkmatrix
