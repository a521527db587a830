#pragma once

#include <memory>

#include "nbody/simulation.hpp"
#include "ranks/communicator.hpp"

namespace linkmatrix {

/// This rank's part of a simulation, on the core that it runs on: MPI gathers the positions.
std::unique_ptr<Simulation> make_rank_simulation(ranks::Communicator& mpi);

}  // namespace linkmatrix
