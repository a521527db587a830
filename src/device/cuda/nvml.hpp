#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/own_process.hpp"

namespace linkmatrix::cuda {

/// Whether two PCI ids are those of one device, as "0000:1b:00.0" and "00000000:1B:00.0".
bool same_device(const std::string& pci_a, const std::string& pci_b);

/// The driver's management library, opened at run time; every answer is optional, because it may be missing, old, or
/// silent inside a virtual machine.
class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;

  /// Where a device's active NVLinks end.
  struct Links {
    int active = 0;
    int to_switch = 0;
    std::vector<std::string> peers;  ///< PCI ids of the GPUs at the other ends, one for each direct link
  };
  std::optional<Links> links(const std::string& pci) const;

  /// Line rate of one of a device's active NVLinks, GB/s: what nvidia-smi prints.
  std::optional<double> link_rate(const std::string& pci) const;

  /// Whether the device is joined to its CPU by NVLink-C2C, and not by PCIe only.
  bool has_chip_link(const std::string& pci) const;

  /// Devices of this host that this process may ask about.
  int device_count() const;

  /// PCI ids of these devices by the numbers of NVML; empty texts for devices that do not answer.
  std::vector<std::string> pcis() const;

  /// What identifies the part: "serial", "vbios", "board", "firmware" (of the InfoROM), as far as it is told.
  std::map<std::string, std::string> part(const std::string& pci) const;

  /// How the device is set, and how it is before anything is measured: "ecc", "mig", "fabric_state" …, as far as it is
  /// told. What limits a copy and does not change while it runs.
  std::map<std::string, std::string> state(const std::string& pci) const;

  /// Number of its module on a board of several.
  std::optional<unsigned> module(const std::string& pci) const;

  /// Who holds a device's memory: "process 1234 (python3) holds 139.2 GiB, …"; empty where nobody does or it is not
  /// told.
  std::string memory_holders(const std::string& pci) const;

  /// Processes that have a context on a device, those first that hold most of its memory.
  DeviceProcesses processes(const std::string& pci) const;

  /// Bytes of a device's memory that compute contexts use, without those that the driver reserves and those of a
  /// desktop. Nothing with an old driver, which does not report reserved memory apart, in MIG mode, and where the
  /// operating system allocates the device's memory too.
  std::optional<std::uint64_t> memory_used(const std::string& pci) const;

  /// Bytes of a device's memory. Nothing with an old driver.
  std::optional<std::uint64_t> memory_total(const std::string& pci) const;

  /// Whether the driver offers peer-to-peer between the two, over whatever path.
  std::optional<bool> peer_access(const std::string& pci_a, const std::string& pci_b) const;

  /// Whether the driver offers peer-to-peer over NVLink between the two.
  bool nvlink_between(const std::string& pci_a, const std::string& pci_b) const;

  /// PIX, PXB, PHB, NODE or SYS: the worst hop of the PCIe path, in nvidia-smi's words.
  std::optional<std::string> pcie_class(const std::string& pci_a, const std::string& pci_b) const;

  /// Generation and width of a device's PCIe slot, the most that both ends can do.
  struct Pcie {
    int generation, width;
  };
  std::optional<Pcie> pcie(const std::string& pci) const;

  /// Counters that only rise, and readings, of a device, as far as it answers.
  std::map<std::string, double> counters(const std::string& pci) const;
  std::map<std::string, double> readings(const std::string& pci) const;

  /// What holds a device's clocks back now, in words.
  std::vector<std::string> throttle_reasons(const std::string& pci) const;

  /// Collects Xid events of the devices from now on; false where the driver has none to offer.
  bool watch_events(const std::vector<std::string>& pcis);
  /// Xid numbers that came since, of the devices of watch_events() by their index.
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
  void add_link_errors(Device handle, std::span<const std::pair<int, const char*>> kinds,
                       std::map<std::string, double>& found) const;

  void* library_ = nullptr;
  void* events_ = nullptr;
  std::vector<Device> watched_;
};

}  // namespace linkmatrix::cuda
