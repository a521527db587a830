#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>

#include "core/clock.hpp"
#include "ranks/communicator.hpp"

namespace linkmatrix {

/// Gathers the positions of all ranks of a simulation on each of them (MPI all-gather). The ranks of a simulation are
/// the first ranks of the job, and only they make these calls.
class PositionsGather {
 public:
  explicit PositionsGather(ranks::Communicator& mpi) : mpi_{mpi} {}
  PositionsGather(const PositionsGather&) = delete;
  PositionsGather& operator=(const PositionsGather&) = delete;

  /// Sets the number of participating ranks.
  void prepare(int ranks);

  /// Waits for all participating ranks.
  void meet(Deadline deadline);

  /// Gathers the parts. memory: one part of `bytes` bytes per rank, of which this rank's part is filled. Throws
  /// TimedOut if another rank does not take part.
  void gather(void* memory, std::uint64_t bytes, Deadline deadline);

  int rank() const { return mpi_.rank(); }

 private:
  ranks::Communicator& mpi_;
  std::map<int, MPI_Comm> made_;  ///< communicators by number of ranks; MPI_Finalize frees them
  MPI_Comm now_ = MPI_COMM_NULL;  ///< communicator of prepare()
};

}  // namespace linkmatrix
