#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>

#include "core/clock.hpp"
#include "ranks/communicator.hpp"

namespace linkmatrix {

/// Every rank's part to every other one, between the first ranks of a job: those of a simulation. Only these make its
/// calls.
class PositionsGather {
 public:
  explicit PositionsGather(ranks::Communicator& mpi) : mpi_{mpi} {}
  PositionsGather(const PositionsGather&) = delete;
  PositionsGather& operator=(const PositionsGather&) = delete;

  /// The ranks that take part from now on: as many as the simulation has devices.
  void prepare(int ranks);

  /// All of them wait for each other.
  void meet(Deadline deadline);

  /// `memory` has a part of `bytes` for each rank, of which this one's is there; throws TimedOut where another one does
  /// not come.
  void gather(void* memory, std::uint64_t bytes, Deadline deadline);

  int rank() const { return mpi_.rank(); }

 private:
  ranks::Communicator& mpi_;
  std::map<int, MPI_Comm> made_;  ///< by the number of ranks; MPI's own end frees them
  MPI_Comm now_ = MPI_COMM_NULL;
};

}  // namespace linkmatrix
