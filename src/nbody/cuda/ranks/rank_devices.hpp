#pragma once

#include <functional>
#include <memory>

#include "nbody/simulation.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix {

/// Ranks that have a GPU each. answerer: of the simulation that a rank has.
ranks::DeviceSupport nbody_rank_support(std::function<ranks::Answerer(std::unique_ptr<Simulation>)> answerer);

}  // namespace linkmatrix
