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
  std::map<std::string, double> counters;  ///< that a healthy run does not raise: errors, replays, Xid events
  std::map<std::string, double> readings;  ///< that may change: clocks, power, temperature, corrected bits of links
};

/// What is measured: its endpoints, and what is known of them.
class Machine {
 public:
  virtual ~Machine() = default;

  /// "cuda", "host", "ipc" or "mpi".
  virtual std::string name() const = 0;

  /// Devices (or what stands for them: pinned threads, ranks) first, then host memory.
  virtual const std::vector<Endpoint>& endpoints() const = 0;

  /// Class, links, peer access and shortest path between all endpoints that are not host memory.
  virtual const Topology& topology() const = 0;

  virtual const Software& software() const = 0;

  /// What each device says of itself now, in the order of endpoints(); empty where nothing can be asked.
  virtual std::vector<DeviceState> device_states() { return {}; }

  /// What holds devices back just now, "gpu3: power cap"; asked where the last copies have hardly ended.
  virtual std::vector<std::string> throttle_reasons() { return {}; }

  /// What the machine and its devices do now, whoever makes them. Asked between matrices, while this run does nothing.
  virtual Activity activity() { return {}; }

  /// The nodes of the run and their network adapters, as they are now.
  virtual std::vector<NodeFacts> nodes() { return {}; }

  /// Whether this process writes the output.
  virtual bool is_root() const { return true; }

  /// Does what the root says, until the root ends this process. Of processes that are not the root.
  virtual void serve() {}

  /// Why the other processes cannot end in order although everything was measured; nothing if they can. Some launchers
  /// call such a run failed whatever its exit code is, so it never passes.
  virtual std::optional<std::string> disorder() { return std::nullopt; }

  /// Ends the other processes when everything is written. Of the root.
  virtual void dismiss(ExitCode) {}
};

}  // namespace linkmatrix
