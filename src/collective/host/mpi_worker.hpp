#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collective/worker.hpp"
#include "ranks/communicator.hpp"

namespace linkmatrix {

/// Collectives of MPI between the host memory of all ranks, by the blocking calls that programs use. One that hangs is
/// ended by the run's deadline only; that all ranks are there is asked before each.
std::unique_ptr<CollectiveWorker> make_mpi_worker(ranks::Communicator& mpi, bool huge_pages);

/// Why MPI cannot do this, one sentence; nothing if it can.
std::optional<std::string> mpi_refusal(const CollectiveCase& wanted);

}  // namespace linkmatrix
