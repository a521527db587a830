#pragma once

#include <memory>

#include "device/backend.hpp"

namespace linkmatrix {

/// Whether this process is one of several that mpirun, or a launcher with PMI, started.
bool started_by_mpirun();

/// Host memory of MPI ranks: each rank an endpoint. A copy is a send of the source and a receive of the destination; a
/// chase is a ping-pong, of which half a round trip counts. Every rank makes the same calls. Starts and ends MPI.
std::unique_ptr<Backend> make_mpi_backend();

}  // namespace linkmatrix
