#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Results of a verification by one process, or summed over all processes. Plain data.
struct Findings {
  std::uint64_t compared = 0, wrong = 0;  ///< number of compared and of wrong accelerations
  double worst = 0;                       ///< largest error divided by its tolerance
  std::uint64_t devices = 0;
  std::uint64_t least_digest = UINT64_MAX, most_digest = 0;  ///< digests of all positions, one per device
  std::array<double, 3> momentum{};
  double momentum_scale = 0;  ///< sum of |m v| over all bodies
  double energy_before = 0, energy_after = 0;

  void add(const Findings& other);
};

/// Returns the tolerance of an acceleration relative to the sum of all |terms|: `roundings` of the precision's epsilon
/// per term, and as many times the square root of the number of consecutive additions. Sums are built from tiles of 256
/// terms.
double tolerated_error(Precision precision, std::uint64_t bodies);
/// Returns the tolerance of the momentum relative to momentum_scale, because forces of two bodies cancel except for
/// rounding.
double tolerated_momentum(Precision precision, std::uint64_t bodies);
/// Returns the tolerance of the energy relative to its initial value.
double tolerated_drift(Precision precision);

/// Restarts the prepared case, makes two steps, and compares accelerations of bodies of every part with the sum over
/// all bodies after each. The second step uses positions from all devices. interactions: limits the number of compared
/// bodies per part, at least two.
Findings check_steps(Simulation& simulation, const NbodyCase& prepared, double interactions, Deadline deadline);

/// Restarts, makes leapfrog steps, and returns momentum and energy. For few bodies, because the energy is a sum over
/// all pairs.
Findings check_drift(Simulation& simulation, const NbodyCase& prepared, int steps, Deadline deadline);

/// Returns one sentence that describes the error; nothing if all is correct.
std::optional<std::string> why_wrong(const Findings& found, const NbodyCase& prepared, bool with_drift);

/// Returns the acceleration of a body by all others in double precision, with the sum of all terms' magnitudes in `w`.
Vector4<double> expected_acceleration(std::span<const Vector4<double>> places, const Vector4<double>& body);

}  // namespace linkmatrix
