#pragma once

#include <memory>
#include <vector>

#include "device/host/endpoint_state.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Creates a simulation on the cores of this machine. Each device (a core, or the cores of a NUMA node) has its own
/// memory and writes its new positions into the memory of the others. A case with n devices uses the first n endpoints.
std::unique_ptr<Simulation> make_host_simulation(std::vector<HostEndpointState> endpoint_states);

}  // namespace linkmatrix
