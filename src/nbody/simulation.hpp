#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "nbody/bodies.hpp"
#include "nbody/nbody_case.hpp"
#include "nbody/split.hpp"

namespace linkmatrix {

/// A step: velocities change by `kick` seconds of acceleration, then positions by `drift` seconds of velocity. Leapfrog
/// makes half a kick first and last, and whole kicks between.
struct Step {
  double kick = step_seconds, drift = step_seconds;
};

/// The parts of a simulation on the devices of this process. Each part has the positions of all bodies and the
/// velocities of its own bodies. All processes make the same calls in the same order. Throws BadInput if memory is
/// insufficient, TimedOut and DeviceError.
class Simulation {
 public:
  virtual ~Simulation() = default;

  /// Allocates memory, and places all bodies at their initial positions, at rest.
  virtual void prepare(const NbodyCase& wanted, Deadline deadline) = 0;
  virtual void restart(Deadline deadline) = 0;

  /// Makes steps. Returns their duration in seconds, until every device has all new positions.
  virtual double run(int steps, const Step& step, Deadline deadline) = 0;

  /// Returns the parts of this process.
  virtual std::vector<int> parts() const = 0;
  /// Returns the positions of all bodies on the device of a part, and the velocities of the part's bodies.
  virtual std::vector<Vector4<double>> positions(int part) = 0;
  virtual std::vector<Vector4<double>> velocities(int part) = 0;
};

}  // namespace linkmatrix
