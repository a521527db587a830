#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Where a function sits on the PCI bus: its root "pci0000:15", the bridges that it is behind, and its own address.
struct PciPlace {
  std::vector<std::string> path;  ///< empty: it is no PCI function
  int numa = -1;                  ///< NUMA node, -1 unknown

  std::string address() const { return path.empty() ? "" : path.back(); }
};

/// The place of what /sys links as a device: a folder of /sys/bus/pci/devices, or the `device` of a network interface.
PciPlace pci_place(const std::filesystem::path& device);

/// GPUs and other accelerators that memory of is measured, in the order of their addresses.
std::vector<PciPlace> gpus_below(const std::filesystem::path& root);

/// The way between two functions of a machine; `nearest` stays false.
GpuPath path_between(const PciPlace& adapter, const PciPlace& gpu);

/// Is the first way shorter than the second? One between sockets is not shorter than anything.
bool nearer(const GpuPath& one, const GpuPath& other);

}  // namespace linkmatrix
