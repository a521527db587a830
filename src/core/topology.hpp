#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace linkmatrix {

enum class EndpointKind { device, host };

/// Names of facts, such as "serial" → texts; what is not known is left out.
using FactTexts = std::map<std::string, std::string>;

/// Something that holds memory and can send or receive: a GPU, a pinned thread, a rank, a NUMA node's memory.
struct Endpoint {
  EndpointKind kind = EndpointKind::device;
  int index = 0;                  ///< as the user numbers it (--devices)
  std::string label;              ///< "gpu3", "cpu1", "rank0", "numa0": row and column heads
  std::string name;               ///< model, e.g. "NVIDIA H200"
  std::string uuid;               ///< empty where there is none
  std::string pci;                ///< "0000:1b:00.0", empty where there is none
  std::string node;               ///< host name
  int numa = -1;                  ///< NUMA node, -1 unknown
  std::vector<std::string> nics;  ///< nearest network interfaces
  FactTexts part;   ///< what identifies it wherever it is put: "serial", "uuid", "vbios", "firmware", "board"
  FactTexts place;  ///< where it is now: "node", "slot", "pci", "port"
  FactTexts state;  ///< how it is set and how it is: "ecc", "mig", "fabric_state", "pcie_width", "power_limit_w" …
  /// Net rates in GB/s of one direction, from core/limits.hpp: of all its NVLinks, and of its PCIe slot.
  std::optional<double> link_limit, host_limit;
};

/// The way from a network adapter to a GPU of the same machine, by PCI.
struct GpuPath {
  std::string pci;         ///< address of the GPU
  std::string link_class;  ///< PIX PXB PHB NODE SYS in nvidia-smi's words; empty: unknown
  int bridges = 0;         ///< PCI bridges that both are behind
  bool nearest = false;    ///< no other GPU is nearer to the adapter
};

/// A port of a network adapter, as the kernel lists it.
/// What a port has counted since its driver was loaded, by the kernel's names.
struct AdapterCounters {
  std::map<std::string, double> errors;      ///< that a healthy run does not raise
  std::map<std::string, double> congestion;  ///< that a busy network raises
};

struct AdapterPort {
  std::string name;                     ///< "mlx5_0", "ens1f0"
  FactTexts part;                       ///< "guid", "mac", "firmware", "board", "model"
  FactTexts place;                      ///< "node", "pci", "slot", "port"
  std::string state, rate, link_layer;  ///< in the kernel's words, "ACTIVE", "400 Gb/sec (4X NDR)"; empty: unknown
  std::string physical_state;           ///< "LinkUp", "Polling"; empty: unknown
  int numa = -1;                        ///< NUMA node, -1 unknown
  std::vector<FactTexts> interfaces;    ///< of the network: "name", "state", "bond", the one that it is a part of
  FactTexts pcie;                       ///< "speed", "width" now, "speed_at_most", "width_at_most" of the adapter
  std::vector<GpuPath> gpus;            ///< in the order of their addresses
  AdapterCounters counters;
};

/// A machine of the run; empty: unknown, or not readable by this user.
struct NodeFacts {
  std::string name;             ///< host name
  std::string machine, serial;  ///< /etc/machine-id, and the maker's number of the product
  std::string product, kernel;
  std::string boot;         ///< an identifier that is new after each start
  std::string bios, board;  ///< version of the firmware that starts it, and its mainboard
  std::vector<AdapterPort> adapters;
};

/// Facts about the paths between the devices, in the order of Backend::endpoints() without host memory.
struct Topology {
  Matrix<std::string> link_class;           ///< "X" on the diagonal, else NV#, PIX … NET, or "" unknown
  Matrix<std::optional<int>> links;         ///< bonded NVLinks of the pair; nothing where unknown
  Matrix<std::optional<bool>> peer_access;  ///< can the row's device reach the column's memory
  Matrix<std::optional<int>> min_path;      ///< hops: 0 no path or itself, 1 direct, more through others
  /// Net rate in GB/s of one direction of the pair's path, from core/limits.hpp; nothing where unknown.
  Matrix<std::optional<double>> limit;
};

/// Versions worth recording: "driver", "cuda", "mpi", "compiler" … → text.
using Software = std::map<std::string, std::string>;

/// Hops between devices along direct links: 0 to itself and where there is no path, 1 direct, more through others.
Matrix<std::optional<int>> shortest_paths(const Matrix<bool>& direct);

}  // namespace linkmatrix
