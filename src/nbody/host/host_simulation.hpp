#pragma once

#include <memory>
#include <vector>

#include "device/host/endpoint_state.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// On the cores of this machine: each device is a core or the cores of a NUMA node, with memory of its own, and writes
/// its new positions into that of the others. Keeps a reference to the stations, of which the first ones take part.
std::unique_ptr<Simulation> make_host_simulation(std::vector<HostEndpointState>& endpoint_states);

}  // namespace linkmatrix
