#pragma once

#include <functional>
#include <memory>

#include "device/backend.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Components of make_local_system().
struct LocalParts {
  std::unique_ptr<Backend> machine;
  std::unique_ptr<Simulation> simulation;
  Memory memory = Memory::host;
  std::string timing;                      ///< see NbodySystem::timing
  std::function<std::string()> transport;  ///< see NbodySystem::transport
};

/// Creates the system of all devices of one process, in the order of the back end.
std::unique_ptr<NbodySystem> make_local_system(LocalParts parts);

/// Calls work(answer) and returns the answer. Converts exceptions to status and reason, except BadInput.
NbodyAnswer answer_of(const std::function<void(NbodyAnswer&)>& work);

/// Verifies the parts of this process: check_steps() or check_drift(). Adds the result to `found`.
void verify_parts(Simulation& simulation, const NbodyCase& prepared, Proof wanted_proof, double interactions,
                  Deadline deadline, Findings& found);

}  // namespace linkmatrix
