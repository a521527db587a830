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

// Other processes disturb a test case if one of these conditions holds:
//
// - A process had a context on a device of the node at any poll.
// - A process held device memory that the run needed.
// - Together they used more than min(most_cores_share × cores, most_cores) of the node's cores. One busy core of many
//   already slows copies through host memory.
// - Together they used more than most_adapter_share of the rate of the node's adapters.
constexpr double most_cores_share = 0.10;    ///< share of the node's cores
constexpr double most_cores = 0.4;           ///< number of cores
constexpr double most_adapter_share = 0.10;  ///< share of the rate of the node's adapters

/// A process that is not a disturbance (--ignore-processes), by executable and user. "*" matches any name or user.
struct IgnoredProcess {
  std::string name, user;
  bool matches(const OtherProcess& process) const;
};

/// Parses "NAME:USER[,NAME:USER…]". Throws BadInput.
std::vector<IgnoredProcess> parse_ignored_processes(std::string_view text);

/// Sets OtherProcess::ignored and Activity::ignores_all of a poll.
void mark_ignored(Activity& poll, const std::vector<IgnoredProcess>& ignored);

/// Fills `disturbances` of the difference of two polls by the conditions above.
void decide_disturbances(Activity& difference);

/// Adds a disturbance of kind memory: the run could not allocate memory of `device`.
void add_memory_disturbance(Activity& difference, const std::string& device);

/// Thrown if nothing can be measured, because other processes hold the memory of the devices.
class MemoryHeld : public DeviceError {
 public:
  /// devices: labels of the devices. poll: a poll with the processes on these devices.
  MemoryHeld(const std::string& why, std::vector<std::string> devices, Activity poll)
      : DeviceError(why), devices_{std::move(devices)}, poll_{std::move(poll)} {}

  const std::vector<std::string>& devices() const { return devices_; }
  const Activity& poll() const { return poll_; }

 private:
  std::vector<std::string> devices_;
  Activity poll_;
};

/// Returns one sentence with the disturbing processes and the resources that they use; nothing without a disturbance.
std::optional<std::string> sentence_of(const Activity& difference);

/// Result of wait_until_idle().
struct IdleWait {
  Activity last;     ///< the last poll
  Activity between;  ///< usage between the last two polls, with its disturbances
  /// sentence_of(between); nothing: no other process uses the machine.
  std::optional<std::string> busy_sentence;
};

/// Calls `poll` every `interval` seconds, until no other process uses the machine or `patience` has passed. The run
/// must not use the machine during the call. Throws TimedOut after `end`.
IdleWait wait_until_idle(const std::function<Activity()>& poll, Deadline patience, Deadline end, double interval = 0.5);

/// Returns the error sentence of --refuse-busy, with the remedy. processes: text of sentence_of(). waited: value of
/// --wait-idle in seconds.
std::string busy_sentence(const std::string& processes, double waited);

}  // namespace linkmatrix
