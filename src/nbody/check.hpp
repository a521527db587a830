#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Result of a verification by one process, or summed over all processes. Trivially copyable.
struct Findings {
  std::uint64_t compared = 0, wrong = 0;                     ///< number of compared and of wrong accelerations
  double worst = 0;                                          ///< largest error divided by its tolerance
  std::uint64_t devices = 0;                                 ///< number of devices that took part
  std::uint64_t least_digest = UINT64_MAX, most_digest = 0;  ///< range of the devices' digests of all positions
  std::array<double, 3> momentum{};                          ///< sum of m v over all bodies
  double momentum_scale = 0;                                 ///< sum of |m v| over all bodies
  double energy_before = 0, energy_after = 0;

  void add(const Findings& other);
};

/// Returns the tolerance of an acceleration, as a fraction of the sum of its |terms|: epsilon × `roundings` × √(number
/// of consecutive additions). Sums are built from tiles of 256 terms.
double tolerated_error(Precision precision, std::uint64_t bodies);
/// Returns the tolerance of the momentum, as a fraction of Findings::momentum_scale. Exactly computed forces between
/// two bodies would cancel.
double tolerated_momentum(Precision precision, std::uint64_t bodies);
/// Returns the tolerance of the energy change, as a fraction of the initial energy.
double tolerated_drift(Precision precision);

/// Restarts the prepared case and makes two steps. After each, compares accelerations of some bodies of every part with
/// expected_acceleration(). The second step uses positions of all devices. interactions: limit of the comparison, at
/// least two bodies per part.
Findings check_steps(Simulation& simulation, const NbodyCase& prepared, double interactions, Deadline deadline);

/// Restarts the prepared case, makes `steps` leapfrog steps, and returns momentum and energy. For few bodies, because
/// the energy is a sum over all pairs.
Findings check_drift(Simulation& simulation, const NbodyCase& prepared, int steps, Deadline deadline);

/// Returns one sentence on the first error; nothing if all is correct. with_drift: whether momentum and energy are
/// known.
std::optional<std::string> why_wrong(const Findings& found, const NbodyCase& prepared, bool with_drift);

/// Returns the acceleration of `body` by the bodies at `places`, in double precision. w: sum of |terms|.
Vector4<double> expected_acceleration(std::span<const Vector4<double>> places, const Vector4<double>& body);

}  // namespace linkmatrix
