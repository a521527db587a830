#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/backend.hpp"
#include "device/cuda/nvml.hpp"
#include "device/device_activity.hpp"
#include "device/host/activity.hpp"

namespace linkmatrix::cuda {

/// The driver's lists of processes on devices.
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

/// Polls the processes on the GPUs of this node if this process uses none of them.
class NodeGpus {
 public:
  NodeGpus();

  /// Adds the processes on all GPUs that NVML lists to a poll. Labels are "NODE:gpu1" with NVML's numbers. Adds nothing
  /// without NVML.
  void add(Activity& now, const std::string& node);

 private:
  Nvml nvml_;
  std::vector<Endpoint> gpus_;
  NvmlUse use_;
};

/// Polls other processes on the GPUs and cores of this node. Labels of GPUs outside the run are "NODE:gpu1" with NVML's
/// numbers.
class DevicePoll {
 public:
  /// Keeps a reference to `nvml`. devices: devices of the run. own: this process on each device.
  DevicePoll(const Nvml& nvml, const std::vector<Endpoint>& devices, std::vector<OwnProcess> own);

  Activity now();

  bool others_hold_memory(std::size_t device) { return devices_.others_hold_memory(device); }

 private:
  std::string node_;
  std::vector<Endpoint> gpus_;  ///< GPUs of the node, those of the run first
  NvmlUse use_;
  DeviceActivity devices_;
  ProcessorPoll processors_;
};

/// Reads the health of devices from the driver; empty without answers.
class HealthReader {
 public:
  /// Keeps a reference to `nvml`.
  HealthReader(Nvml& nvml, const std::vector<Endpoint>& devices);

  /// Returns the state of every device, in order. Xid events count since the construction.
  std::vector<DeviceState> states();

  /// Returns the throttle reasons of all devices, "gpu3: power cap".
  std::vector<std::string> throttle_reasons() const;

 private:
  Nvml& nvml_;
  std::vector<std::string> labels_, pcis_;
  bool has_events_;
  std::vector<std::map<std::string, double>> xids_;  ///< "xid_79" → how often, for each device
};

}  // namespace linkmatrix::cuda
