#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/words.hpp"

namespace linkmatrix {

/// Counters of a node's adapters, or of a rank's processor time.
struct Use {
  std::string label;              ///< the node; of processor time, the rank
  std::string of;                 ///< "net_out" and "net_in" in bytes; "cpu" in seconds
  std::optional<double> counted;  ///< net: all bytes. Nothing: not readable
  std::optional<double> own;      ///< by this run; nothing: not known
  std::string by{};               ///< of a network: the adapters that counted, "eth0, eth1"
  double rate = 0;                ///< bytes per second that these adapters carry per direction; 0: not known
  std::string cores{};            ///< of a rank's cpu: the cores that the rank may use, "0-3,8"
};

/// Processor time of a node: seconds of all cores together.
struct NodeLoad {
  std::string node;
  std::optional<double> load{};      ///< the kernel's load average of the last minute
  int cores = 0;                     ///< of the node; 0: not readable
  std::optional<double> stolen{};    ///< the host of a virtual machine took from its cores
  std::optional<double> busy{};      ///< cores worked, without interrupts
  std::optional<double> own_busy{};  ///< of them for this run and for what started the run
  double kernel = 0;                 ///< of them for threads of the kernel
  double listed = 0;                 ///< of a difference: for other processes that the polls list
  double ignored = 0;                ///< of a difference: for processes that --ignore-processes names
};

/// A process that does not belong to this run.
struct OtherProcess {
  std::string where;                   ///< label of the device that the process has a context on; else the node
  unsigned pid = 0;                    ///< 0: a process that the driver does not list, known by its memory alone
  std::string name, user;              ///< empty: not readable
  std::optional<std::uint64_t> bytes;  ///< of the device's memory
  std::optional<double> seconds;       ///< of processors
  std::optional<double> lately{};      ///< of them those since the poll before, which did not list the process
  bool on_device = false;              ///< `where` is a device: a node may have a device's name
  bool ignored = false;                ///< --ignore-processes names the process

  bool is_on_device() const { return on_device || bytes.has_value(); }
};

/// How other processes disturbed a test case.
struct Disturbance {
  std::string node;
  DisturbanceKind kind = DisturbanceKind::context;
  std::string where;              ///< label of a device or endpoint, name of a node or of adapters
  std::optional<double> share{};  ///< that other processes had of the cores, or of what the adapter carries
  std::vector<unsigned> pids{};   ///< of the processes that are known
};

/// What the polls say of a machine: which processes use it, and how much. `untold`: what cannot be read, one sentence
/// each.
struct Activity {
  double seconds = 0;  ///< on a steady clock; of a difference: how long
  /// Whether other processes may have used the devices: of a poll, that the driver does not tell; of a difference, also
  /// that one has a context there. Nothing where there are no devices.
  std::optional<bool> shared;
  std::vector<Use> uses;
  std::vector<NodeLoad> nodes;
  std::vector<OtherProcess> processes;
  std::vector<std::string> untold;
  std::vector<Disturbance> disturbances{};  ///< decided once, by decide_disturbances()
  std::vector<OtherProcess> ignored{};      ///< processes that --ignore-processes names
  bool ignores_all = false;                 ///< --ignore-processes '*:*': also processes that no poll lists

  bool empty() const { return uses.empty() && nodes.empty() && processes.empty() && untold.empty(); }
};

/// What happened between two polls, with the processes of both. A counter that fell, or that only one poll has, is not
/// known. Of processes without a context on a device, the busiest of each node.
Activity between(const Activity& before, const Activity& after);

/// The part of a single poll that means something without a second one.
Activity at_rest(const Activity& poll);

/// Adds to `earlier` the processes that have a context on a device in `poll` and were not there yet, so that a
/// difference from `earlier` has them.
void remember_contexts(Activity& earlier, const Activity& poll);

/// Forgets which bytes over networks were the run's own: the run did not count them all.
void forget_own_bytes(Activity& difference);

/// A name that a process has given itself, for a record and a terminal: what is no printable ASCII becomes '?'.
std::string printable_name(std::string name);

/// The node of a rank, "n3" of "n3:gpu0"; empty for a label without node.
std::string node_of_rank(const std::string& label);

/// The node of a label: that of a rank, else the first one.
std::string node_of(const std::string& label, const Activity& activity);

}  // namespace linkmatrix
