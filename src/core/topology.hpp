#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix.hpp"

namespace linkmatrix {

enum class EndpointKind { device, host };

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
  /// Net rates in GB/s of one direction, from core/limits.hpp: of all its NVLinks, and of its PCIe slot.
  std::optional<double> link_limit, host_limit;
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
