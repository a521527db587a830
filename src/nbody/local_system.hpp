#pragma once

#include <functional>
#include <memory>

#include "device/backend.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// All devices of one process: those of the back end, in its order.
struct LocalParts {
  std::unique_ptr<Backend> machine;
  std::unique_ptr<Simulation> simulation;
  Memory memory = Memory::host;
  std::string timing;
  std::vector<std::uint64_t> default_bodies;
  /// How positions get from device to device.
  std::function<std::string()> transport;
};
std::unique_ptr<NbodySystem> make_local_system(LocalParts parts);

/// Does `work`, and says what became of it. BadInput is left to whoever asked.
NbodyAnswer answer_of(const std::function<void(NbodyAnswer&)>& work);

/// What is asked of a simulation whose parts are all of this process, or of its own ones.
void find_in(Simulation& simulation, const NbodyCase& prepared, Proof wanted_proof, double interactions,
             Deadline deadline, Findings& found);

}  // namespace linkmatrix
