#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace linkmatrix {

enum class EndpointKind { device, host };

/// Facts by name, such as "serial". Unknown facts are absent.
using FactTexts = std::map<std::string, std::string>;

/// Something that has memory and sends or receives data: a GPU, a pinned thread, a rank, or the memory of a NUMA node.
struct Endpoint {
  EndpointKind kind = EndpointKind::device;
  int index = 0;                  ///< number for the user (--devices)
  std::string label;              ///< label of rows and columns: "gpu3", "cpu1", "rank0", "numa0"
  std::string name;               ///< model, e.g. "NVIDIA H200"
  std::string uuid;               ///< empty: none
  std::string pci;                ///< PCI address "0000:1b:00.0"; empty: none
  std::string node;               ///< host name
  int numa = -1;                  ///< NUMA node; -1: unknown
  std::vector<std::string> nics;  ///< nearest network interfaces
  FactTexts part;   ///< identity of the component in any slot: "serial", "uuid", "vbios", "firmware", "board"
  FactTexts place;  ///< current slot: "node", "slot", "pci", "port", and the NVLink "domain" that spans nodes
  FactTexts state;  ///< settings and state: "ecc", "mig", "fabric_state", "pcie_width", "power_limit_w" …
  /// Net rates of one direction in GB/s (core/limits.hpp): of all NVLinks together, and of the PCIe slot.
  std::optional<double> link_limit, host_limit;
};

/// PCI path from a network adapter to a GPU of the same machine.
struct GpuPath {
  std::string pci;         ///< address of the GPU
  std::string link_class;  ///< PIX, PXB, PHB, NODE or SYS as in nvidia-smi; empty: unknown
  int bridges = 0;         ///< number of PCI bridges above both
  bool nearest = false;    ///< whether no other GPU is closer to the adapter
};

/// Counters of a network port since its driver was loaded, by the kernel's names.
struct AdapterCounters {
  std::map<std::string, double> errors;      ///< counters that a healthy run does not increase
  std::map<std::string, double> congestion;  ///< counters that a busy network increases
};

struct AdapterPort {
  std::string name;                     ///< "mlx5_0", "ens1f0"
  FactTexts part;                       ///< "guid", "mac", "firmware", "board", "model"
  FactTexts place;                      ///< "node", "pci", "slot", "port"
  std::string state, rate, link_layer;  ///< in the kernel's spelling: "ACTIVE", "400 Gb/sec (4X NDR)"; empty: unknown
  std::string physical_state;           ///< "LinkUp", "Polling"; empty: unknown
  int numa = -1;                        ///< NUMA node; -1: unknown
  /// Network interfaces of the port: "name", "state", and the "bond" that contains the interface.
  std::vector<FactTexts> interfaces;
  FactTexts pcie;             ///< PCIe link: "speed", "width", "speed_at_most", "width_at_most"
  std::vector<GpuPath> gpus;  ///< in the order of their PCI addresses
  AdapterCounters counters;
};

/// A node of the run. Empty fields are unknown, or not readable by this user.
struct NodeFacts {
  std::string name;             ///< host name
  std::string machine, serial;  ///< /etc/machine-id, and the serial number of the product
  std::string product, kernel;
  std::string boot;         ///< boot identifier, new after each start of the node
  std::string bios, board;  ///< version of the firmware, and model of the mainboard
  std::vector<AdapterPort> adapters;
};

/// Paths between the devices, in the order of Backend::endpoints() without host memory.
struct Topology {
  Matrix<std::string> link_class;           ///< "X" on the diagonal; else NV#, PIX … NET; "": unknown
  Matrix<std::optional<int>> links;         ///< number of bonded NVLinks of the pair; nothing: unknown
  Matrix<std::optional<bool>> peer_access;  ///< whether the row's device can access the column's memory
  /// Number of hops: 0 for itself or no path, 1 direct, more through other devices.
  Matrix<std::optional<int>> min_path;
  /// Net rate of one direction of the pair's path in GB/s (core/limits.hpp); nothing: unknown.
  Matrix<std::optional<double>> limit;
};

/// Software versions by name: "driver", "cuda", "mpi", "compiler" …
using Software = std::map<std::string, std::string>;

/// Returns the number of hops between devices along direct links: 0 for itself or no path, 1 direct, more through other
/// devices.
Matrix<std::optional<int>> shortest_paths(const Matrix<bool>& direct);

}  // namespace linkmatrix
