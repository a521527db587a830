#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/activity.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace linkmatrix {

// Rule: another process disturbed a test case if the process had a context on a device of the node at any poll, if the
// process held device memory that the run needed, or if other processes together used more than the limits below. For
// the cores of a node the smaller limit applies, because one busy core of many already slows copies through host
// memory.
constexpr double most_cores_share = 0.10;    ///< share of the node's cores
constexpr double most_cores = 0.4;           ///< number of cores
constexpr double most_adapter_share = 0.10;  ///< share of the rate of the node's adapters

/// A process that is not a disturbance (--ignore-processes), by executable and user. "*" matches any name or user.
struct IgnoredProcess {
  std::string name, user;
  bool is(const OtherProcess& process) const;
};

/// Parses "NAME:USER[,NAME:USER…]". Throws BadInput.
std::vector<IgnoredProcess> parse_ignored_processes(std::string_view text);

/// Marks the ignored processes of a poll.
void mark_ignored(Activity& poll, const std::vector<IgnoredProcess>& ignored);

/// Fills `difference.disturbances` by the rule above.
void decide_disturbances(Activity& difference);

/// Adds a disturbance: other processes hold memory of `device` that the run could not allocate.
void add_memory_disturbance(Activity& difference, const std::string& device);

/// Nothing can be measured, because other processes hold the memory of devices.
class MemoryHeld : public DeviceError {
 public:
  /// devices: labels of the devices. poll: the processes there.
  MemoryHeld(const std::string& why, std::vector<std::string> devices, Activity poll)
      : DeviceError(why), devices_{std::move(devices)}, poll_{std::move(poll)} {}

  const std::vector<std::string>& devices() const { return devices_; }
  const Activity& poll() const { return poll_; }

 private:
  std::vector<std::string> devices_;
  Activity poll_;
};

/// Returns one sentence that names the disturbing processes and what they use. Returns nothing without a disturbance.
std::optional<std::string> sentence_of(const Activity& difference);

/// Result of wait_until_idle().
struct IdleWait {
  Activity last;     ///< the last poll
  Activity between;  ///< usage between the last two polls, with its disturbances
  /// Sentence on the processes that still use the machine; nothing: the machine is idle.
  std::optional<std::string> busy;
};

/// Polls the machine until no other process disturbs it or `patience` has passed. This run must not use the machine
/// during the call. apart: seconds between two polls. Throws TimedOut when `end` has passed.
IdleWait wait_until_idle(const std::function<Activity()>& poll, Deadline patience, Deadline end, double apart = 0.5);

/// Returns the sentence of --refuse-busy, with the remedy. processes: text of sentence_of(). waited: seconds of
/// --wait-idle.
std::string busy_sentence(const std::string& processes, double waited);

}  // namespace linkmatrix
