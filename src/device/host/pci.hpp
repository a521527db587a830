#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Location of a PCI function: root "pci0000:15", bridges, and its own address.
struct PciPlace {
  std::vector<std::string> path;  ///< empty: not a PCI function
  int numa = -1;                  ///< NUMA node; -1: unknown

  std::string address() const { return path.empty() ? "" : path.back(); }
};

/// Returns the location of a device folder: /sys/bus/pci/devices/…, or the `device` link of a network interface.
PciPlace pci_place(const std::filesystem::path& device);

/// Returns the GPUs and other accelerators with measurable memory, sorted by address.
std::vector<PciPlace> gpus_below(const std::filesystem::path& root);

/// Returns the path between two functions; `nearest` stays false.
GpuPath path_between(const PciPlace& adapter, const PciPlace& gpu);

/// Returns whether the first path is shorter. A path between sockets is never shorter than another path.
bool nearer(const GpuPath& one, const GpuPath& other);

}  // namespace linkmatrix
