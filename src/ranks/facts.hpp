#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix::ranks {

/// Version of linkmatrix. A separate text, so that tests can replace it.
extern const char* const program_version;

/// Returns the NUMA node of this process's core; -1: unknown.
int own_numa();

/// Returns the transports that MPI uses, as far as MPI reports them: "pml ob1", "loaded UCX+UCX InfiniBand,
/// UCX_TLS=rc,cuda".
std::string mpi_network();

/// Returns whether MPI reports that it is CUDA-aware; false if it reports nothing.
bool mpi_is_cuda_aware();

/// Returns the versions of the loaded message libraries UCX, libfabric and GDRCopy, and of the GDRCopy driver.
/// Libraries that are not loaded are absent.
Software transport_versions();

/// Returns the file of a library from the mappings of a process (lines as in /proc/self/maps); "" if the library is not
/// loaded. name: "libucp" matches libucp.so.0.0.0, but not libucp_cuda.so.
std::string library_file(const std::vector<std::string>& mappings, const std::string& name);

}  // namespace linkmatrix::ranks
