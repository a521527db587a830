#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nbody/cuda/device_part.hpp"
#include "nbody/nbody_system.hpp"
#include "nbody/options.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// The devices of this process, by their ordinals: the first one has part `first`.
struct SimulatedDevices {
  std::vector<int> ordinals;
  std::vector<std::string> labels;
  int first = 0;
};

/// Exchange of positions between processes, in both precisions.
struct Exchanges {
  std::function<std::unique_ptr<cuda::PositionExchange<float>>()> of_float;
  std::function<std::unique_ptr<cuda::PositionExchange<double>>()> of_double;
};

/// On GPUs: forces of a part's own bodies are added up while the positions of the others are still on their way.
std::unique_ptr<Simulation> make_device_simulation(SimulatedDevices devices, Exchanges exchanges);

/// The GPUs of this process: each copies its new positions to every other one.
std::unique_ptr<NbodySystem> make_device_system(const NbodyOptions& options);

}  // namespace linkmatrix
