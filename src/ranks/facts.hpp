#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix::ranks {

/// Version of linkmatrix. A variable, so that tests can replace it.
extern const char* const program_version;

/// Returns the NUMA node of this process's core; -1: unknown.
int own_numa();

/// Returns the transports that MPI reports or that its libraries and environment suggest: "pml ob1", or "loaded UCX+UCX
/// InfiniBand, UCX_TLS=rc,cuda".
std::string mpi_network();

/// Returns whether MPI reports that it is CUDA-aware.
bool mpi_is_cuda_aware();

/// Returns the versions of the loaded libraries UCX, libfabric and GDRCopy, and of the GDRCopy driver.
Software transport_versions();

/// Returns the path of a loaded library; "" if it is not loaded. mappings: lines of /proc/self/maps. name: "libucp"
/// matches libucp.so.0.0.0, but not libucp_cuda.so.
std::string library_file(const std::vector<std::string>& mappings, const std::string& name);

}  // namespace linkmatrix::ranks
