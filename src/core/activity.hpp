#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/words.hpp"

namespace linkmatrix {

/// Usage of one resource: the network of a node, or the cores of a rank.
struct Use {
  std::string label;              ///< network: name of the node; cpu: label of the rank
  std::string of;                 ///< "net_out" or "net_in" (in bytes), or "cpu" (in seconds)
  std::optional<double> counted;  ///< network: usage by all processes; nothing: not readable
  std::optional<double> own;      ///< usage by this run; nothing: unknown
  std::string by{};               ///< network: names of the counted adapters, "eth0, eth1"
  double rate = 0;                ///< network: rate of these adapters in bytes per second and direction; 0: unknown
  std::string cores{};            ///< cpu: allowed cores of the rank, "0-3,8"
};

/// Processor time of a node, in seconds summed over all cores.
struct NodeLoad {
  std::string node;
  int cores = 0;                     ///< number of cores of the node; 0: not readable
  std::optional<double> busy{};      ///< all processes and kernel threads, without interrupts; nothing: not readable
  std::optional<double> own_busy{};  ///< part of `busy`: this run and its launchers
  double kernel = 0;                 ///< part of `busy`: kernel threads
  double listed = 0;                 ///< part of `busy`: other processes in `Activity::processes`; set by between()
  double ignored = 0;                ///< part of `busy`: processes of --ignore-processes; set by between()
};

/// A process that does not belong to this run.
struct OtherProcess {
  std::string where;                   ///< label of the device with a context of the process; else name of the node
  unsigned pid = 0;                    ///< 0: unknown, because the driver reports only the memory of the process
  std::string name, user;              ///< empty: not readable
  std::optional<std::uint64_t> bytes;  ///< bytes of device memory
  std::optional<double> seconds;       ///< processor time in seconds
  std::optional<double> lately{};      ///< part of `seconds` since the previous poll, if that poll lacks the process
  bool on_device = false;              ///< whether `where` is a device
  bool ignored = false;                ///< whether --ignore-processes names the process

  bool is_on_device() const { return on_device || bytes.has_value(); }
};

/// One disturbance of a test case by other processes.
struct Disturbance {
  std::string node;
  DisturbanceKind kind = DisturbanceKind::context;
  std::string where;              ///< label of a device, or name of a node or of adapters
  std::optional<double> share{};  ///< fraction of the cores, or of the adapters' rate, used by other processes
  std::vector<unsigned> pids{};   ///< the known processes
};

/// Usage of a machine. Either one poll, with totals since boot, or the difference of two polls.
struct Activity {
  double seconds = 0;  ///< poll: time on the steady clock; difference: duration
  /// Whether other processes may have used the devices. Poll: whether the driver hides processes. Difference: also true
  /// if another process has a context on a device. Nothing on a machine without devices.
  std::optional<bool> shared;
  std::vector<Use> uses;
  std::vector<NodeLoad> nodes;
  std::vector<OtherProcess> processes;
  std::vector<std::string> untold;          ///< sentences on facts that could not be read
  std::vector<Disturbance> disturbances{};  ///< filled by decide_disturbances()
  std::vector<OtherProcess> ignored{};      ///< processes of --ignore-processes
  bool ignores_all = false;                 ///< whether --ignore-processes is '*:*', which includes unlisted processes

  bool empty() const { return uses.empty() && nodes.empty() && processes.empty() && untold.empty(); }
};

/// Returns the difference of two polls. Its processes are those with a context on a device in either poll, and the
/// busiest other processes of each node. A counter is unknown if it decreased, or if one poll lacks it.
Activity between(const Activity& before, const Activity& after);

/// Returns the parts of a poll that need no second poll: device contexts and unreadable facts.
Activity single_poll_usage(const Activity& poll);

/// Adds the processes of `poll` with a context on a device to `earlier`, so that between(earlier, …) lists them even if
/// they end before the next poll.
void remember_contexts(Activity& earlier, const Activity& poll);

/// Sets Use::own of networks to unknown. Used if the run did not count all its bytes.
void forget_own_bytes(Activity& difference);

/// Replaces characters other than printable ASCII by '?', so that a record or a terminal can contain the name.
std::string printable_name(std::string name);

/// Returns "n3" for "n3:gpu0"; "" for a label without a node.
std::string node_of_rank(const std::string& label);

/// Returns the node of a label; for a label without a node, the first node of the activity.
std::string node_of(const std::string& label, const Activity& activity);

}  // namespace linkmatrix
