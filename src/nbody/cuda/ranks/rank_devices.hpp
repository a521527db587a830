#pragma once

#include <functional>
#include <memory>

#include "nbody/simulation.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix {

/// Returns the functions of ranks with one GPU each. answerer: creates the answers of a rank from its simulation.
ranks::DeviceSupport nbody_rank_support(std::function<ranks::Answerer(std::unique_ptr<Simulation>)> answerer);

}  // namespace linkmatrix
