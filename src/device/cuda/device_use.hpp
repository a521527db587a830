#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/backend.hpp"
#include "device/cuda/nvml.hpp"
#include "device/device_activity.hpp"
#include "device/host/activity.hpp"

namespace linkmatrix::cuda {

/// Reports the use of devices by NVML. Devices are indices into `devices` of the constructor.
class NvmlUse final : public DeviceUseSource {
 public:
  /// Keeps a reference to `nvml`.
  NvmlUse(const Nvml& nvml, const std::vector<Endpoint>& devices);

  DeviceProcesses processes_on(std::size_t device) override { return nvml_.processes(pcis_.at(device)); }
  std::optional<std::uint64_t> memory_used_on(std::size_t device) override {
    return nvml_.memory_used(pcis_.at(device));
  }
  std::optional<std::uint64_t> memory_total_on(std::size_t device) override {
    return nvml_.memory_total(pcis_.at(device));
  }

 private:
  const Nvml& nvml_;
  std::vector<std::string> pcis_;
};

/// Polls the processes on all GPUs of this node, in a process that uses none of them.
class NodeGpus {
 public:
  NodeGpus();

  /// Adds the processes on all GPUs to a poll. Labels: "NODE:gpu1" with NVML's numbers. Without NVML, adds nothing.
  void add(Activity& now, const std::string& node);

 private:
  Nvml nvml_;
  std::vector<Endpoint> gpus_;
  NvmlUse use_;
};

/// Polls other processes on the GPUs and cores of this node. GPUs outside the run have labels such as "NODE:gpu1", with
/// NVML's numbers.
class DevicePoll {
 public:
  /// Keeps a reference to `nvml`. devices: devices of the run. own: how the driver lists this process on each device.
  DevicePoll(const Nvml& nvml, const std::vector<Endpoint>& devices, std::vector<OwnProcess> own);

  /// Returns a poll.
  Activity now();

  bool has_other_memory_holders(std::size_t device) { return devices_.has_other_memory_holders(device); }

 private:
  std::string node_;
  std::vector<Endpoint> gpus_;  ///< GPUs of the node, those of the run first
  NvmlUse use_;
  DeviceActivity devices_;
  ProcessorPoll processors_;
};

/// Reads counters, readings and throttle reasons of devices from NVML. Values are absent if NVML does not report them.
class HealthReader {
 public:
  /// Keeps a reference to `nvml`.
  HealthReader(Nvml& nvml, const std::vector<Endpoint>& devices);

  /// Returns the state of every device, in order. Counters of Xid events begin with the construction.
  std::vector<DeviceState> states();

  /// Returns the throttle reasons of all devices, "gpu3: power cap".
  std::vector<std::string> throttle_reasons() const;

 private:
  Nvml& nvml_;
  std::vector<std::string> labels_, pcis_;
  bool has_events_;
  std::vector<std::map<std::string, double>> xids_;  ///< by device: "xid_79" → number of events
};

}  // namespace linkmatrix::cuda
