#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/words.hpp"

namespace linkmatrix {

/// Usage of one resource: the network of a node, or the cores of a rank.
struct Use {
  std::string label;              ///< name of the node; label of the rank for "cpu"
  std::string of;                 ///< "net_out" or "net_in", in bytes; "cpu", in seconds
  std::optional<double> counted;  ///< total usage; nothing: not readable. Network only
  std::optional<double> own;      ///< usage by this run; nothing: unknown
  std::string by{};               ///< network: names of the adapters that counted, "eth0, eth1"
  double rate = 0;                ///< bytes per second that these adapters carry per direction; 0: unknown
  std::string cores{};            ///< cpu: the cores that the rank may use, "0-3,8"
};

/// Processor time of a node, in seconds summed over all cores.
struct NodeLoad {
  std::string node;
  int cores = 0;                     ///< number of cores of the node; 0: not readable
  std::optional<double> busy{};      ///< time in which cores worked, without interrupts
  std::optional<double> own_busy{};  ///< part of `busy` for this run and the processes that started the run
  double kernel = 0;                 ///< part of `busy` for kernel threads
  double listed = 0;                 ///< differences only: part of `busy` for other processes that the polls list
  double ignored = 0;                ///< differences only: part of `busy` for processes of --ignore-processes
};

/// A process that does not belong to this run.
struct OtherProcess {
  std::string where;       ///< label of the device on which the process has a context; else name of the node
  unsigned pid = 0;        ///< 0: the driver does not list the process, and only its memory is known
  std::string name, user;  ///< empty: not readable
  std::optional<std::uint64_t> bytes;  ///< bytes of device memory
  std::optional<double> seconds;       ///< seconds of processor time
  std::optional<double> lately{};      ///< part of `seconds` since the previous poll, which did not list the process
  bool on_device = false;              ///< whether `where` is a device; a node may have the name of a device
  bool ignored = false;                ///< whether --ignore-processes names the process

  bool is_on_device() const { return on_device || bytes.has_value(); }
};

/// One disturbance of a test case by other processes.
struct Disturbance {
  std::string node;
  DisturbanceKind kind = DisturbanceKind::context;
  std::string where;              ///< label of a device or endpoint, or name of a node or of adapters
  std::optional<double> share{};  ///< share of the cores, or of the adapter's rate, that other processes used, 0 to 1
  std::vector<unsigned> pids{};   ///< the known processes
};

/// Usage of a machine: of one poll, or of the time between two polls.
struct Activity {
  double seconds = 0;  ///< poll: time on a steady clock; difference: duration
  /// Whether other processes may have used the devices. Poll: the driver does not report all processes. Difference:
  /// also, another process has a context on a device. Nothing on a machine without devices.
  std::optional<bool> shared;
  std::vector<Use> uses;
  std::vector<NodeLoad> nodes;
  std::vector<OtherProcess> processes;
  std::vector<std::string> untold;
  std::vector<Disturbance> disturbances{};  ///< filled by decide_disturbances()
  std::vector<OtherProcess> ignored{};      ///< processes of --ignore-processes
  bool ignores_all = false;                 ///< --ignore-processes '*:*' also ignores processes that no poll lists

  bool empty() const { return uses.empty() && nodes.empty() && processes.empty() && untold.empty(); }
};

/// Returns the usage between two polls, with the processes of both polls. A counter that decreased, or that only one
/// poll has, is unknown. Of processes without a context on a device, the result has only the busiest of each node.
Activity between(const Activity& before, const Activity& after);

/// Returns the part of a single poll that is meaningful without a second poll.
Activity at_rest(const Activity& poll);

/// Adds to `earlier` the processes that have a context on a device in `poll` and are not in `earlier`. A difference
/// from `earlier` then lists these processes.
void remember_contexts(Activity& earlier, const Activity& poll);

/// Marks the run's own network bytes as unknown. Used if the run did not count all its bytes.
void forget_own_bytes(Activity& difference);

/// Returns a process name that is safe in a record and on a terminal: characters other than printable ASCII become '?'.
std::string printable_name(std::string name);

/// Returns the node of a rank label: "n3" for "n3:gpu0". Returns "" for a label without a node.
std::string node_of_rank(const std::string& label);

/// Returns the node of a label. For a label without a node, returns the first node of the activity.
std::string node_of(const std::string& label, const Activity& activity);

}  // namespace linkmatrix
