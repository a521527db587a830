#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nbody/simulation.hpp"

namespace linkmatrix {

/// What was found out of a simulation by what a process has of it; of all processes, added up. Plain data.
struct Findings {
  std::uint64_t compared = 0, wrong = 0;  ///< accelerations beside a sum in double precision
  double worst = 0;                       ///< the largest error of any, over what is tolerated
  std::uint64_t devices = 0;
  std::uint64_t least_digest = UINT64_MAX, most_digest = 0;  ///< of all positions, as each device has them
  std::array<double, 3> momentum{};
  double momentum_scale = 0;  ///< the sum of all bodies' |m v|
  double energy_before = 0, energy_after = 0;

  void add(const Findings& other);
};

/// What is tolerated of an acceleration, as a fraction of the sum of all |terms|: `roundings` of the precision's
/// epsilon for each term, and as many times the square root of the additions that follow each other. Sums go through
/// tiles: 256 terms are added up, and then the tiles.
double tolerated_error(Precision precision, std::uint64_t bodies);
/// Of the momentum, over momentum_scale: forces of two bodies on each other cancel but for their rounding.
double tolerated_momentum(Precision precision, std::uint64_t bodies);
/// Of the energy, over what there was of it.
double tolerated_drift(Precision precision);

/// Restarts what was prepared, makes two steps and compares, after each, the accelerations of bodies of every part with
/// the sum over all bodies; of the second, over the positions that came from all devices. `interactions`: as many
/// bodies of a part as these allow, at least two.
Findings check_steps(Simulation& simulation, const NbodyCase& prepared, double interactions, Deadline deadline);

/// Restarts, and makes so many steps of leapfrog: what becomes of momentum and energy. Of few bodies: the energy is a
/// sum over all pairs.
Findings check_drift(Simulation& simulation, const NbodyCase& prepared, int steps, Deadline deadline);

/// What is wrong, one sentence; nothing if all is right.
std::optional<std::string> why_wrong(const Findings& found, const NbodyCase& prepared, bool with_drift);

/// The acceleration of a body by all others, in double precision, and the sum of all terms' magnitudes in `w`.
Vector4<double> expected_acceleration(std::span<const Vector4<double>> places, const Vector4<double>& body);

}  // namespace linkmatrix
