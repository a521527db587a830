#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "core/error.hpp"
#include "core/topology.hpp"

namespace linkmatrix {

/// Counters and readings of one device, by name.
struct DeviceState {
  /// Counters that a healthy run does not increase: errors, replays, Xid events.
  std::map<std::string, double> counters;
  /// Values that may change: clocks, power, temperature, corrected bit errors of links.
  std::map<std::string, double> readings;
};

/// The measured machine: endpoints, topology and state. All calls come from the thread that measures.
class Machine {
 public:
  virtual ~Machine() = default;

  /// Returns the name of the back end: "cuda", "host", "ipc" or "mpi".
  virtual std::string name() const = 0;

  /// Returns the devices (GPUs, pinned threads or ranks), followed by host memory.
  virtual const std::vector<Endpoint>& endpoints() const = 0;

  /// Returns link class, links, peer access and shortest path between the devices, in the order of endpoints().
  virtual const Topology& topology() const = 0;

  virtual const Software& software() const = 0;

  /// Returns the current state of each device, in the order of endpoints(); empty if devices report no state.
  virtual std::vector<DeviceState> device_states() { return {}; }

  /// Returns the active throttle reasons, such as "gpu3: power cap". Called immediately after copies.
  virtual std::vector<std::string> throttle_reasons() { return {}; }

  /// Polls the usage of the machine by all processes. Called between matrices, while this run is idle.
  virtual Activity activity() { return {}; }

  /// Returns the current facts of the run's nodes and network adapters.
  virtual std::vector<NodeFacts> nodes() { return {}; }

  /// Returns whether this process writes the output.
  virtual bool is_root() const { return true; }

  /// Executes orders of the root until the root ends this process. Called in processes other than the root.
  virtual void serve() {}

  /// Returns why other processes cannot end normally; nothing if they can. Such a run must not pass, because some
  /// launchers report it as failed.
  virtual std::optional<std::string> abnormal_end() { return std::nullopt; }
  /// Ends the other processes with this exit code, after the output is written. Called only at the root.
  virtual void dismiss(ExitCode) {}
};

}  // namespace linkmatrix
