#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/activity.hpp"
#include "device/traffic_ledger.hpp"

namespace linkmatrix {

/// What a driver says of the use of a device now; nothing: it does not say.
struct DeviceUse {
  struct Process {
    unsigned pid = 0;
    std::string name;
    std::optional<std::uint64_t> bytes;
  };
  /// Which share of the device a process had since it was asked last; one that is not among them had none.
  struct Share {
    unsigned pid = 0;
    double sm = 0, memory = 0;
  };
  std::map<std::string, double>
      traffic;  ///< "nvlink_out" …: bytes, counted since some time; what is not there is not told
  std::optional<std::vector<Process>> processes;
  std::optional<std::vector<Share>> shares;
};

/// A driver, or its answers in a test.
class DeviceUseSource {
 public:
  virtual ~DeviceUseSource() = default;
  virtual DeviceUse use_of(std::size_t device) = 0;
};

/// How long counters that are refreshed late may be waited for; seconds.
struct Patience {
  double most = 1, between = 0.05;
  double unlisted = 2;  ///< of a run in all, where the driver lists nobody else and not this process either
};

/// What others do on the devices of this process.
class DeviceActivity {
 public:
  /// Keeps a reference to the source. own: the processes of this run, as the driver numbers them if they are of the
  /// same namespace.
  DeviceActivity(DeviceUseSource& source, std::vector<std::string> labels, std::vector<unsigned> own,
                 std::string own_name, Patience patience = {});

  /// Adds to a look. Where others may use the devices, counters that have not been refreshed since the run's last copy
  /// are waited for; one that lacks what the run itself has moved is no answer.
  void add(Activity& activity, TrafficLedger& ledger);

 private:
  struct Seen {
    DeviceUse use;
    std::map<std::string, double> at_first, own_before;  ///< what the device had counted, and the run moved
    double sm = 0, memory = 0;                           ///< seconds of others, so far
  };
  bool is_own(const DeviceUse::Process& process, const DeviceUse& use) const;
  bool lists_this(const DeviceUse& use) const;
  std::vector<DeviceUse::Process> others_on(const DeviceUse& use) const;
  bool others_possible() const;
  bool others_listed() const;
  void refresh();
  void await_refresh(const TrafficLedger& ledger);
  void add_traffic(Activity& activity, Seen& seen, const std::string& label, const TrafficLedger& ledger, bool known);
  void add_shares(Activity& activity, Seen& seen, const std::string& label, double seconds);
  void add_processes(Activity& activity, const Seen& seen, const std::string& label) const;

  DeviceUseSource& source_;
  std::vector<std::string> labels_;
  std::vector<unsigned> own_;
  std::string own_name_;
  Patience patience_;
  std::vector<Seen> seen_;
  double waited_ = 0;           ///< seconds, in all looks
  std::optional<double> last_;  ///< when it was looked last
};

}  // namespace linkmatrix
