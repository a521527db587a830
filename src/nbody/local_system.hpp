#pragma once

#include <functional>
#include <memory>

#include "device/backend.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Creates the system of all devices of one process, in the order of the back end.
struct LocalParts {
  std::unique_ptr<Backend> machine;
  std::unique_ptr<Simulation> simulation;
  Memory memory = Memory::host;
  std::string timing;
  /// Returns how devices exchange positions.
  std::function<std::string()> transport;
};
std::unique_ptr<NbodySystem> make_local_system(LocalParts parts);

/// Runs `work` and returns its outcome. BadInput is passed to the caller.
NbodyAnswer answer_of(const std::function<void(NbodyAnswer&)>& work);

/// Runs the requested verification of the parts of this process.
void find_in(Simulation& simulation, const NbodyCase& prepared, Proof wanted_proof, double interactions,
             Deadline deadline, Findings& found);

}  // namespace linkmatrix
