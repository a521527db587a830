#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"
#include "device/backend.hpp"
#include "device/cuda/nvml.hpp"
#include "device/device_activity.hpp"
#include "device/host/activity.hpp"

namespace linkmatrix::cuda {

/// The driver's answers on who uses devices.
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

/// Polls which processes have a context on the GPUs of this node, of which this process uses none.
class NodeGpus {
 public:
  NodeGpus();

  /// Adds to a poll the processes on all GPUs that NVML counts. Labels are "NODE:gpu1", with the numbers of NVML.
  /// Adds nothing without NVML.
  void add(Activity& now, const std::string& node);

 private:
  Nvml nvml_;
  std::vector<Endpoint> gpus_;
  NvmlUse use_;
};

/// Polls who uses the GPUs and the processors of this node. Labels of GPUs that the run does not use are "NODE:gpu1",
/// with the numbers of NVML.
class DevicePoll {
 public:
  /// Keeps a reference to `nvml`. devices: those that the run uses. own: this process on each of them.
  DevicePoll(const Nvml& nvml, const std::vector<Endpoint>& devices, std::vector<OwnProcess> own);

  Activity now();

  bool others_hold_memory(std::size_t device) { return devices_.others_hold_memory(device); }

 private:
  std::string node_;
  std::vector<Endpoint> gpus_;  ///< those of the run first
  NvmlUse use_;
  DeviceActivity devices_;
  ProcessorPoll processors_;
};

/// What the driver says of the devices' health; nothing where it does not answer.
class HealthReader {
 public:
  /// Keeps a reference to `nvml`.
  HealthReader(Nvml& nvml, const std::vector<Endpoint>& devices);

  /// Of every device, in order; Xid events count from the construction.
  std::vector<DeviceState> states();

  /// "gpu3: power cap", for every device and reason.
  std::vector<std::string> throttle_reasons() const;

 private:
  Nvml& nvml_;
  std::vector<std::string> labels_, pcis_;
  bool has_events_;
  std::vector<std::map<std::string, double>> xids_;  ///< "xid_79" → how often, for each device
};

}  // namespace linkmatrix::cuda
