#pragma once

#include <optional>
#include <string>
#include <vector>

namespace linkmatrix::cuda {

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

  /// Whether the driver offers peer-to-peer over NVLink between the two.
  bool nvlink_between(const std::string& pci_a, const std::string& pci_b) const;

  /// PIX, PXB, PHB, NODE or SYS: the worst hop of the PCIe path, in nvidia-smi's words.
  std::optional<std::string> pcie_class(const std::string& pci_a, const std::string& pci_b) const;

 private:
  using Device = void*;
  template <class Function>
  Function* symbol(const char* name) const;
  std::optional<Device> device(const std::string& pci) const;

  void* library_ = nullptr;
};

}  // namespace linkmatrix::cuda
