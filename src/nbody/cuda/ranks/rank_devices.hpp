#pragma once

#include <functional>
#include <memory>

#include "nbody/simulation.hpp"
#include "ranks/options.hpp"
#include "ranks/payload.hpp"

namespace linkmatrix {

/// Returns the functions for ranks with one GPU each. answerer: creates the function that answers rank 0's questions
/// with a rank's simulation.
ranks::DeviceSupport nbody_rank_support(std::function<ranks::Answerer(std::unique_ptr<Simulation>)> answerer);

}  // namespace linkmatrix
