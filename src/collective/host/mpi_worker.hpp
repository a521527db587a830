#pragma once

#include <memory>
#include <optional>
#include <string>

#include "collective/worker.hpp"
#include "ranks/communicator.hpp"

namespace linkmatrix {

/// MPI collectives between the host memory of all ranks, by blocking calls as in applications. Only the run's deadline
/// ends a call that hangs, so ranks are checked before each call.
std::unique_ptr<CollectiveWorker> make_mpi_worker(ranks::Communicator& mpi, bool huge_pages);

/// Returns one sentence on why MPI cannot run a case; nothing if it can.
std::optional<std::string> mpi_refusal(const CollectiveCase& wanted);

}  // namespace linkmatrix
