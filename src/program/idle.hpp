#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/activity.hpp"
#include "core/clock.hpp"

namespace linkmatrix {

/// What came of waiting for a machine that nobody else uses.
struct IdleWait {
  Activity last;                    ///< poll
  Activity between;                 ///< the last two polls, which are half a second apart, and what disturbed
  std::optional<std::string> busy;  ///< who still used the machine then, in a sentence
};

/// Polls a machine, on which this run does nothing, until no other process disturbs or `patience` has passed. Throws
/// TimedOut when `end` has.
IdleWait wait_until_idle(const std::function<Activity()>& poll, Deadline patience, Deadline end, double apart = 0.5);

/// Why nothing is measured, with the remedy.
std::string busy_sentence(const std::string& who, double waited);

}  // namespace linkmatrix
