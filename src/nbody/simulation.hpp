#pragma once

#include <cstdint>
#include <vector>

#include "core/clock.hpp"
#include "nbody/bodies.hpp"
#include "nbody/nbody_case.hpp"
#include "nbody/split.hpp"

namespace linkmatrix {

/// A step: velocities change by `kick` seconds of acceleration, then positions by `drift` seconds of velocity. Leapfrog
/// is a kick of half a step at the beginning and at the end, and whole ones between.
struct Step {
  double kick = step_seconds, drift = step_seconds;
};

/// What the devices of this process have of a simulation: some of its parts, each with the positions of all bodies and
/// the velocities of its own. All processes of a simulation make the same calls in the same order. Throws BadInput
/// where memory is not to be had, TimedOut and DeviceError.
class Simulation {
 public:
  virtual ~Simulation() = default;

  /// Makes room and puts all bodies where they begin, at rest.
  virtual void prepare(const NbodyCase& wanted, Deadline deadline) = 0;
  virtual void restart(Deadline deadline) = 0;

  /// So many steps, one after the other; the seconds of all of them, until every device has all new positions.
  virtual double run(int steps, const Step& step, Deadline deadline) = 0;

  /// The parts of this process.
  virtual std::vector<int> parts() const = 0;
  /// All places, as the device of a part has them now; the velocities of the part's own bodies.
  virtual std::vector<Vector4<double>> positions(int part) = 0;
  virtual std::vector<Vector4<double>> velocities(int part) = 0;
};

}  // namespace linkmatrix
