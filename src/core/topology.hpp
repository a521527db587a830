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

/// A source or destination of data: a GPU, a pinned thread, a rank, or the memory of a NUMA node.
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
  FactTexts part;                 ///< identity of the component: "serial", "uuid", "vbios", "firmware", "board"
  FactTexts place;                ///< its slot: "node", "slot", "pci", "port", and the NVLink "domain" that spans nodes
  FactTexts state;  ///< its settings and state: "ecc", "mig", "fabric_state", "pcie_width", "power_limit_w" …
  /// Net rates of one direction in GB/s (core/limits.hpp): of all NVLinks together, and of the PCIe slot.
  std::optional<double> link_limit, host_limit;
};

/// PCI path from a network adapter to a GPU of the same machine.
struct GpuPath {
  std::string pci;         ///< address of the GPU
  std::string link_class;  ///< PIX, PXB, PHB, NODE or SYS as in nvidia-smi; empty: unknown
  int bridges = 0;         ///< number of PCI bridges on the path
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
  std::string state, rate, link_layer;  ///< as in /sys: "ACTIVE", "400 Gb/sec (4X NDR)"; empty: unknown
  std::string physical_state;           ///< "LinkUp", "Polling"; empty: unknown
  int numa = -1;                        ///< NUMA node; -1: unknown
  /// Network interfaces of the port: "name", "state", and the "bond" that contains the interface.
  std::vector<FactTexts> interfaces;
  FactTexts pcie;             ///< PCIe link: "speed", "width", "speed_at_most", "width_at_most"
  std::vector<GpuPath> gpus;  ///< paths to all GPUs, in the order of their PCI addresses
  AdapterCounters counters;
};

/// A node of the run. Empty fields are unknown, or not readable by this user.
struct NodeFacts {
  std::string name;             ///< host name
  std::string machine, serial;  ///< /etc/machine-id, and the serial number of the product
  std::string product, kernel;
  std::string boot;         ///< boot identifier, different after each start of the node
  std::string bios, board;  ///< firmware version, and mainboard model
  std::vector<AdapterPort> adapters;
};

/// Paths between the devices, in the order of Machine::endpoints() without host memory.
struct Topology {
  Matrix<std::string> link_class;           ///< "X" on the diagonal; else NV#, PIX … NET; "": unknown
  Matrix<std::optional<int>> links;         ///< number of bonded NVLinks of the pair; nothing: unknown
  Matrix<std::optional<bool>> peer_access;  ///< whether the row's device can access the column's memory
  /// See shortest_paths().
  Matrix<std::optional<int>> min_path;
  /// Net rate of one direction of the pair's path in GB/s (core/limits.hpp); nothing: unknown.
  Matrix<std::optional<double>> limit;
};

/// Software versions by name: "driver", "cuda", "mpi", "compiler" …
using Software = std::map<std::string, std::string>;

/// Returns the number of hops between devices: 1 for a direct link, more through other devices, 0 for a device with
/// itself and for pairs without a path.
Matrix<std::optional<int>> shortest_paths(const Matrix<bool>& direct);

}  // namespace linkmatrix
