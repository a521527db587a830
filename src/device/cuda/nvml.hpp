#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/own_process.hpp"

namespace linkmatrix::cuda {

/// Returns whether two PCI ids denote one device, such as "0000:1b:00.0" and "00000000:1B:00.0".
bool same_device(const std::string& pci_a, const std::string& pci_b);

/// NVML, the driver's management library, loaded at run time. Devices are given by PCI id. Results are absent if the
/// library is missing or old, or if a virtual machine hides them.
class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;

  /// Active NVLinks of a device.
  struct Links {
    int active = 0;                  ///< number of active links
    int to_switch = 0;               ///< number of links to NVSwitches
    std::vector<std::string> peers;  ///< PCI ids of the GPUs at the other ends, one per direct link
  };
  std::optional<Links> links(const std::string& pci) const;

  /// Returns the line rate of one active NVLink in GB/s, as printed by nvidia-smi.
  std::optional<double> link_rate(const std::string& pci) const;

  /// Returns whether NVLink-C2C connects the device to its CPU.
  bool has_chip_link(const std::string& pci) const;

  /// Returns the number of devices that this process may query.
  int device_count() const;

  /// Returns the PCI ids of these devices, by NVML's numbers; "" for devices that do not answer.
  std::vector<std::string> pcis() const;

  /// Returns the identity of the component: "serial", "vbios", "board", "firmware" (of the InfoROM). Unknown facts are
  /// absent.
  std::map<std::string, std::string> part(const std::string& pci) const;

  /// Returns settings and state that do not change during a run: "ecc", "mig", "fabric_state" … Unknown facts are
  /// absent.
  std::map<std::string, std::string> state(const std::string& pci) const;

  /// Returns the facts of state() about the NVLink fabric: "fabric_state", "fabric_clique", "fabric_cluster" …
  std::map<std::string, std::string> fabric(const std::string& pci) const;

  /// Returns the multi-node NVLink domain of a device as "<cluster UUID>.<clique>"; "" without a domain, or before the
  /// fabric manager has registered the device.
  std::string domain(const std::string& pci) const;

  /// Returns the number of the module on a board with several modules.
  std::optional<unsigned> module(const std::string& pci) const;

  /// Returns "process 1234 (python3) holds 139.2 GiB, …" for the processes that hold a device's memory; "" if there are
  /// none or if they are unknown.
  std::string memory_holders(const std::string& pci) const;

  /// Returns the processes with a context on a device, the largest memory first.
  DeviceProcesses processes(const std::string& pci) const;

  /// Returns the bytes of device memory that compute contexts use, without memory reserved by the driver. Nothing if
  /// the driver does not report reserved memory, in MIG mode, and if the operating system also allocates device memory.
  std::optional<std::uint64_t> memory_used(const std::string& pci) const;

  /// Returns the size of the device memory in bytes; nothing with an old driver.
  std::optional<std::uint64_t> memory_total(const std::string& pci) const;

  /// Returns whether the driver offers peer-to-peer access between two devices, over any path.
  std::optional<bool> peer_access(const std::string& pci_a, const std::string& pci_b) const;

  /// Returns whether the driver offers peer-to-peer access over NVLink.
  bool nvlink_between(const std::string& pci_a, const std::string& pci_b) const;

  /// Returns PIX, PXB, PHB, NODE or SYS: the longest hop of the PCIe path, as in nvidia-smi.
  std::optional<std::string> pcie_class(const std::string& pci_a, const std::string& pci_b) const;

  /// PCIe link of a device: the maximum that both the device and its slot support.
  struct Pcie {
    int generation, width;
  };
  std::optional<Pcie> pcie(const std::string& pci) const;

  /// Returns counters, which only increase, and readings of a device. Unknown values are absent. NVLink counters are
  /// sums over all links.
  std::map<std::string, double> counters(const std::string& pci) const;
  std::map<std::string, double> readings(const std::string& pci) const;

  /// Returns the current throttle reasons of a device.
  std::vector<std::string> throttle_reasons(const std::string& pci) const;

  /// Starts the collection of Xid events. Returns false if the driver offers none.
  bool watch_events(const std::vector<std::string>& pcis);
  /// Returns the Xid numbers since the last call, with the index of the device in watch_events().
  std::vector<std::pair<std::size_t, int>> take_events();

 private:
  using Device = void*;
  void* address(const char* name) const;
  template <class Function>
  Function* symbol(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }
  std::optional<Device> device(const std::string& pci) const;
  struct MemoryBytes {
    std::uint64_t total, used;  ///< used: without reserved memory
  };
  std::optional<MemoryBytes> memory(Device handle) const;

  void* library_ = nullptr;
  void* events_ = nullptr;
  std::vector<Device> watched_;
};

}  // namespace linkmatrix::cuda
