#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "nbody/bodies.hpp"
#include "nbody/nbody_case.hpp"
#include "nbody/split.hpp"

namespace linkmatrix {

/// A step adds `kick` seconds of acceleration to velocities, then `drift` seconds of velocity to positions. Leapfrog:
/// the first and last kick are half as long.
struct Step {
  double kick = step_seconds, drift = step_seconds;
};

/// The parts of a simulation on the devices of this process, one part per device. Each part has the positions of all
/// bodies and the velocities of its own bodies. All processes make the same calls in the same order. Functions throw
/// BadInput if memory is insufficient, TimedOut and DeviceError.
class Simulation {
 public:
  virtual ~Simulation() = default;

  /// Allocates memory, and calls restart().
  virtual void prepare(const NbodyCase& wanted, Deadline deadline) = 0;
  /// Sets all bodies to their initial positions, at rest.
  virtual void restart(Deadline deadline) = 0;

  /// Makes `steps` equal steps. Returns their duration in seconds, until every device has all new positions.
  virtual double run(int steps, const Step& step, Deadline deadline) = 0;

  /// Returns the numbers of the parts of this process.
  virtual std::vector<int> parts() const = 0;
  /// Return the positions of all bodies in the memory of a part's device, and the velocities of the part's bodies.
  virtual std::vector<Vector4<double>> positions(int part) = 0;
  virtual std::vector<Vector4<double>> velocities(int part) = 0;
};

}  // namespace linkmatrix
