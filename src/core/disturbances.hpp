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

// The rule: another process disturbed a test case where it had a context on a device of the node at any poll, held the
// memory that the run needed there, or where other processes together used more than these limits.
// On the cores of a node the smaller limit counts: a process on one core of many slows copies through host memory too,
// and has half of a core that it shares with a thread of the run.
constexpr double most_cores_share = 0.10;    ///< of the node's cores
constexpr double most_cores = 0.4;           ///< cores of the node
constexpr double most_adapter_share = 0.10;  ///< of what the node's adapters can carry

/// A process that disturbs nothing (--ignore-processes), by executable and user; "*" stands for any.
struct IgnoredProcess {
  std::string name, user;
  bool is(const OtherProcess& process) const;
};

/// Reads "NAME:USER[,NAME:USER…]". Throws BadInput.
std::vector<IgnoredProcess> parse_ignored_processes(std::string_view text);

/// Marks the processes of a poll that are ignored.
void mark_ignored(Activity& poll, const std::vector<IgnoredProcess>& ignored);

/// Decides how other processes disturbed what was measured between two polls.
void decide_disturbances(Activity& difference);

/// Adds that other processes hold the memory of a device which the run could not allocate.
void add_memory_disturbance(Activity& difference, const std::string& device);

/// Nothing can be measured, because other processes hold the memory of devices.
class MemoryHeld : public DeviceError {
 public:
  /// devices: their labels. poll: of the processes there.
  MemoryHeld(const std::string& why, std::vector<std::string> devices, Activity poll)
      : DeviceError(why), devices_{std::move(devices)}, poll_{std::move(poll)} {}

  const std::vector<std::string>& devices() const { return devices_; }
  const Activity& poll() const { return poll_; }

 private:
  std::vector<std::string> devices_;
  Activity poll_;
};

/// Who disturbs what, in one sentence; nothing where nobody does.
std::optional<std::string> sentence_of(const Activity& difference);

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
std::string busy_sentence(const std::string& processes, double waited);

}  // namespace linkmatrix
