#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collective/worker.hpp"
#include "ranks/communicator.hpp"

namespace linkmatrix {

/// Creates the worker for MPI collectives between the host memory of all ranks, with blocking calls as in applications.
/// A call that hangs ends only with the run's deadline, so the worker synchronizes the ranks before each burst.
std::unique_ptr<CollectiveWorker> make_mpi_worker(ranks::Communicator& mpi, bool huge_pages);

/// Returns one sentence on why MPI cannot run a case; nothing if it can.
std::optional<std::string> mpi_refusal(const CollectiveCase& wanted);

}  // namespace linkmatrix
