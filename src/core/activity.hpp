#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace linkmatrix {

/// How much of something of an endpoint is used. Bytes of "nvlink_out", "nvlink_in", "pcie_out" and "pcie_in", and of a
/// node "net_out" and "net_in"; seconds of "cpu" (that the run's own threads wanted its cores), "sm" and "memory" (that
/// others used the device); segments of a node's TCP, "tcp_sent", and those "tcp_again" that had to be sent once more.
struct Use {
  std::string label;              ///< of the endpoint
  std::string of;                 ///< "nvlink_out" …
  std::optional<double> counted;  ///< by the machine, whoever used it; nothing: it cannot be read
  std::optional<double> own;      ///< by this run; nothing: it is not known, as of copies that failed
  std::string by{};               ///< which adapters counted, of bytes over a network: "eth0, eth1"
  double rate = 0;                ///< that these carry each way, bytes a second; 0: not known
  // of "cpu" of a rank:
  std::string cores{};              ///< that it may use, "0-3,8"
  std::optional<double> busy{};     ///< seconds that these worked, for whomever; interrupts only where `own` has them
  std::optional<double> others{};   ///< of them those that others had: processes that nobody saw too
  std::map<int, double> roaming{};  ///< of `own`, by core: threads that may run elsewhere than on `cores`
};

/// What a node's processors do, in seconds of all of them together but for the load.
struct NodeLoad {
  std::string node;
  std::optional<double> load;       ///< that the kernel says, of the last minute
  std::optional<double> stalled;    ///< that some task waited for a processor, by the kernel's pressure counter
  std::optional<double> stolen;     ///< that the host of a virtual machine took
  std::optional<double> busy;       ///< that processors were not idle
  std::optional<double> own_busy;   ///< of them, by this process
  std::map<int, double> helpers{};  ///< of each core, by the kernel's threads, which may work for the run, and by what
                                    ///< started it
  double listed = 0;                ///< of a difference: by processes of others that the looks list, all of them
  std::optional<double> throttled{};  ///< that processors did not run for the run because of its own quota, each for
                                      ///< itself; nothing: it has none, or has become another
  std::string quota{};                ///< this, as "cpu.max 50000 100000"; empty: none
};

/// A process that is none of this run's.
struct OtherProcess {
  std::string where;  ///< label of the device that it has a context on; else the node
  unsigned pid = 0;
  std::string name, user;              ///< empty: not readable
  std::optional<std::uint64_t> bytes;  ///< of the device's memory
  std::optional<double> seconds;       ///< of processors, or of the device
  std::optional<double> lately{};      ///< of them those since the look before, where that one did not list it
  std::string cores{};                 ///< that it may use, "0-3,8"; empty: not readable
  bool on_device = false;              ///< `where` is a device, whatever the node is called; so it is where `bytes` are

  bool is_on_device() const { return on_device || bytes.has_value(); }
};

/// What a machine and its devices do, whoever makes them: counters, which say something by their difference. `untold`:
/// what cannot be read, one sentence each, so that nobody takes silence for peace.
struct Activity {
  double seconds = 0;  ///< on a steady clock; of a difference: how long
  /// Whether others may have used the devices: some process has a context on one, or the driver does not tell. Nothing
  /// where there are none.
  std::optional<bool> shared;
  std::vector<Use> uses;
  std::vector<NodeLoad> nodes;
  std::vector<OtherProcess> processes;
  std::vector<std::string> untold;

  bool empty() const { return uses.empty() && nodes.empty() && processes.empty() && untold.empty(); }
};

/// What happened between two looks. A counter that fell, or is in one of them alone, says nothing; what others had is
/// a difference of counters, and where it fell, by their ticks, they had nothing. Processes are those of either look;
/// of the ones that have no context on a device those that used processors most.
Activity between(const Activity& before, const Activity& after);

/// Where the run moved bytes that it did not count: how many were its own nobody knows, on any path.
void lose_own_bytes(Activity& difference);

/// What a single look says of others: who has a context on a device, and what cannot be read.
Activity at_rest(const Activity& look);

/// Who used so much between two looks that what is measured then is not the machine's own, in a sentence: processes
/// with a context on a device, bytes that the run did not move, and where processors copy, processes that used them:
/// beside ranks those that took more than a fifth of a processor where not one is left for each rank that may use the
/// same, and all of a node together that used one or more. Nothing where nobody did.
std::optional<std::string> disturbance(const Activity& difference);

/// What a run's own quota of processors kept it from, one sentence for each node: nobody else is to blame for that.
std::vector<std::string> held_back(const Activity& difference);

/// A name that a process has given itself, for a record and a terminal: what is no printable ASCII becomes '?'.
std::string printable_name(std::string name);

/// The node of a rank, "n3" of "n3:gpu0"; empty for what is no rank.
std::string node_of_rank(const std::string& label);

/// "pid 2983 (hog, bob) on gpu1, …", the first few; empty for none.
std::string list_of(std::span<const OtherProcess> processes);

}  // namespace linkmatrix
