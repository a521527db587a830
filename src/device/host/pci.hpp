#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix {

/// Location of a PCI function.
struct PciPlace {
  std::vector<std::string> path;  ///< root "pci0000:15", bridges, own address; empty: not a PCI function
  int numa = -1;                  ///< NUMA node; -1: unknown

  std::string address() const { return path.empty() ? "" : path.back(); }
};

/// Returns the location of a device. device: folder in /sys/bus/pci/devices, or the `device` link of an interface.
PciPlace pci_place(const std::filesystem::path& device);

/// Returns the GPUs and other accelerators below `root`/sys, sorted by address.
std::vector<PciPlace> gpus_below(const std::filesystem::path& root);

/// Returns the path between two functions. Does not set GpuPath::nearest.
GpuPath path_between(const PciPlace& adapter, const PciPlace& gpu);

/// Returns whether `one` is shorter than `other`. Paths between sockets (SYS) are longer than all others.
bool is_nearer(const GpuPath& one, const GpuPath& other);

}  // namespace linkmatrix
