#pragma once

#include <string>
#include <vector>

#include "core/topology.hpp"

namespace linkmatrix::ranks {

/// Of linkmatrix; a text of its own in the program, so that tests can make another version of it.
extern const char* const program_version;

/// The NUMA node of the core this process runs on, -1 unknown.
int own_numa();

/// Which transports MPI has taken, as far as it shows: "pml ob1", "loaded UCX+UCX InfiniBand, UCX_TLS=rc,cuda".
std::string mpi_network();

/// Whether MPI takes addresses of device memory, as it says itself; false where it does not say.
bool mpi_is_cuda_aware();

/// Versions of the libraries that move messages, as those say that MPI has loaded into this process: UCX, libfabric and
/// GDRCopy, and of the kernel's part of GDRCopy. What is not loaded is left out.
Software transport_versions();

/// The file of the library among a process's mappings, lines as of /proc/self/maps; empty where it is not loaded.
/// name: "libucp" of libucp.so.0.0.0, but not of libucp_cuda.so.
std::string library_file(const std::vector<std::string>& mappings, const std::string& name);

/// Versions of the libraries that move messages, as those say that MPI has loaded into this process: UCX, libfabric and
/// GDRCopy, and of the kernel's part of GDRCopy. What is not loaded is left out.
Software transport_versions();

/// The file of the library among a process's mappings, lines as of /proc/self/maps; empty where it is not loaded.
/// name: "libucp" of libucp.so.0.0.0, but not of libucp_cuda.so.
std::string library_file(const std::vector<std::string>& mappings, const std::string& name);

}  // namespace linkmatrix::ranks
