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

/// The devices of this process. Device i computes part first + i.
struct SimulatedDevices {
  std::vector<int> ordinals;
  std::vector<std::string> labels;
  int first = 0;
};

/// Functions that create the exchange of positions, for both precisions.
struct Exchanges {
  std::function<std::unique_ptr<cuda::PositionExchange<float>>()> of_float;
  std::function<std::unique_ptr<cuda::PositionExchange<double>>()> of_double;
};

/// Creates a simulation on GPUs. Forces by a part's own bodies are computed while other positions are transferred.
std::unique_ptr<Simulation> make_device_simulation(SimulatedDevices devices, Exchanges exchanges);

/// Creates the system of the GPUs of this process. Each GPU copies its new positions to all others.
std::unique_ptr<NbodySystem> make_device_system(const NbodyOptions& options);

}  // namespace linkmatrix
