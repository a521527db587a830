#pragma once

#include <string>
#include <vector>

namespace linkmatrix::ranks {

/// Of linkmatrix; a text of its own in the program, so that tests can make another version of it.
extern const char* const program_version;

/// The NUMA node of the core this process runs on, -1 unknown.
int own_numa();

/// Which transports MPI has taken, as far as it shows: "pml ob1", "loaded UCX+UCX InfiniBand, UCX_TLS=rc,cuda".
std::string mpi_network();

/// Whether MPI takes addresses of device memory, as it says itself; false where it does not say.
bool mpi_is_cuda_aware();

}  // namespace linkmatrix::ranks
