#include "nbody/check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/error.hpp"

namespace linkmatrix {
namespace {

/// Roundings per term: three differences, squares, the inverse root (one more on GPUs) and its cube.
constexpr double roundings = 8;
/// Relative energy change per step by the precision of positions, and by leapfrog in drift_steps. For comparison: a
/// force with a wrong sign, or without a tenth of the bodies, changes the energy by 1e-4.
constexpr double drift_of_float = 2e-6, drift_of_double = 1e-8;
constexpr std::size_t rows_between_clock_reads = 64;

double epsilon(Precision precision) {
  return precision == Precision::f32 ? double{std::numeric_limits<float>::epsilon()}
                                     : std::numeric_limits<double>::epsilon();
}

/// Returns evenly spaced bodies of a part, including the first and the last.
std::vector<std::uint64_t> chosen_of(std::uint64_t count, std::uint64_t most) {
  std::vector<std::uint64_t> chosen;
  const std::uint64_t n = std::min(count, std::max<std::uint64_t>(most, 2));
  for (std::uint64_t i = 0; i < n; ++i) chosen.push_back(n == 1 ? 0 : i * (count - 1) / (n - 1));
  return chosen;
}

std::uint64_t digest_of(std::span<const Vector4<double>> places) {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a by words
  const auto take = [&digest](double value) {
    digest = (digest ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
  };
  for (const auto& [x, y, z, w] : places) take(x), take(y), take(z), take(w);
  return digest;
}

double length(double x, double y, double z) { return std::sqrt(x * x + y * y + z * z); }

/// Compares the accelerations of some bodies of one part in the last step.
class Comparison {
 public:
  Comparison(const NbodyCase& wanted, int part, double interactions)
      : wanted_{wanted}, split_{wanted.bodies, wanted.devices}, part_{part} {
    const double of_all = interactions / static_cast<double>(wanted.bodies) / wanted.devices;
    chosen_ = chosen_of(split_.count(part), static_cast<std::uint64_t>(of_all));
  }

  /// places: before the step; before, after: velocities of the part.
  void add(std::span<const Vector4<double>> places, std::span<const Vector4<double>> before,
           std::span<const Vector4<double>> after, Deadline deadline, Findings& found) const {
    const double tolerated = tolerated_error(wanted_.precision, wanted_.bodies);
    for (std::size_t n = 0; n < chosen_.size(); ++n) {
      if (n % rows_between_clock_reads == 0 && deadline.passed())
        throw TimedOut("the comparison did not finish in time");
      const std::uint64_t i = chosen_[n];
      const auto gained = [&](double Vector4<double>::*axis) {
        return (after[i].*axis - before[i].*axis) / step_seconds;
      };
      const Vector4<double> want = expected_acceleration(places, places[split_.place_of(part_) + i]);
      const double error = length(gained(&Vector4<double>::x) - want.x, gained(&Vector4<double>::y) - want.y,
                                  gained(&Vector4<double>::z) - want.z) /
                           (want.w * tolerated);
      ++found.compared;
      if (!(error <= 1)) ++found.wrong;  // also counts NaN
      if (!(error <= found.worst)) found.worst = error;
    }
  }

 private:
  NbodyCase wanted_;
  Split split_;
  int part_;
  std::vector<std::uint64_t> chosen_;
};

void add_momentum(std::span<const Vector4<double>> places, std::span<const Vector4<double>> velocities,
                  std::uint64_t place, Findings& found) {
  for (std::size_t i = 0; i < velocities.size(); ++i) {
    const double mass = places[place + i].w;
    const auto& [x, y, z, w] = velocities[i];
    found.momentum[0] += mass * x, found.momentum[1] += mass * y, found.momentum[2] += mass * z;
    found.momentum_scale += mass * length(x, y, z);
  }
}

/// Returns the energy of one part's bodies: kinetic energy, and half of the potential with all bodies.
double energy_of(std::span<const Vector4<double>> places, std::span<const Vector4<double>> velocities,
                 std::uint64_t place, Deadline deadline) {
  double energy = 0;
  for (std::size_t i = 0; i < velocities.size(); ++i) {
    if (i % rows_between_clock_reads == 0 && deadline.passed()) throw TimedOut("the energy was not summed in time");
    const Vector4<double>& body = places[place + i];
    double potential = 0;
    for (const auto& [x, y, z, mass] : places) {
      const double dx = x - body.x, dy = y - body.y, dz = z - body.z;
      potential -= mass / std::sqrt(dx * dx + dy * dy + dz * dz + softening_squared);
    }
    potential += body.w / std::sqrt(softening_squared);  // itself
    const auto& [x, y, z, w] = velocities[i];
    energy += body.w * (potential + x * x + y * y + z * z) / 2;
  }
  return energy;
}

}  // namespace

void Findings::add(const Findings& other) {
  compared += other.compared, wrong += other.wrong, devices += other.devices;
  if (!(other.worst <= worst)) worst = other.worst;
  least_digest = std::min(least_digest, other.least_digest), most_digest = std::max(most_digest, other.most_digest);
  for (std::size_t axis = 0; axis < momentum.size(); ++axis) momentum[axis] += other.momentum[axis];
  momentum_scale += other.momentum_scale;
  energy_before += other.energy_before, energy_after += other.energy_after;
}

double tolerated_error(Precision precision, std::uint64_t bodies) {
  const double tile = bodies_of_tile, tiles = static_cast<double>(bodies) / tile;
  return roundings * epsilon(precision) * std::sqrt(tile + tiles);
}

double tolerated_momentum(Precision precision, std::uint64_t bodies) {
  // errors of bodies are independent, and velocities are sums of few accelerations
  return tolerated_error(precision, bodies) * roundings;
}

double tolerated_drift(Precision precision) { return precision == Precision::f32 ? drift_of_float : drift_of_double; }

Vector4<double> expected_acceleration(std::span<const Vector4<double>> places, const Vector4<double>& body) {
  Vector4<double> sum{};
  for (const auto& [x, y, z, mass] : places) {
    const double dx = x - body.x, dy = y - body.y, dz = z - body.z;
    const double squared = dx * dx + dy * dy + dz * dz + softening_squared;
    const double share = mass / (squared * std::sqrt(squared));
    sum.x += dx * share, sum.y += dy * share, sum.z += dz * share;
    sum.w += share * std::sqrt(squared);
  }
  return sum;
}

Findings check_steps(Simulation& simulation, const NbodyCase& prepared, double interactions, Deadline deadline) {
  Findings found;
  const Split split(prepared.bodies, prepared.devices);
  simulation.restart(deadline);
  constexpr int steps = 2;
  for (int step = 0; step < steps; ++step) {
    const bool last = step + 1 == steps;
    std::vector<std::vector<Vector4<double>>> places, before;
    for (const int part : simulation.parts()) {
      places.push_back(simulation.positions(part));
      before.push_back(simulation.velocities(part));
    }
    simulation.run(1, {}, deadline);
    std::size_t n = 0;
    for (const int part : simulation.parts()) {
      const auto after = simulation.velocities(part);
      Comparison(prepared, part, interactions / steps).add(places[n], before[n], after, deadline, found);
      if (last) {
        add_momentum(places[n], after, split.place_of(part), found);
        const std::uint64_t digest = digest_of(simulation.positions(part));
        found.least_digest = std::min(found.least_digest, digest);
        found.most_digest = std::max(found.most_digest, digest);
        ++found.devices;
      }
      ++n;
    }
  }
  return found;
}

Findings check_drift(Simulation& simulation, const NbodyCase& prepared, int steps, Deadline deadline) {
  Findings found;
  const Split split(prepared.bodies, prepared.devices);
  const auto energy = [&](bool is_end) {
    double sum = 0;
    for (const int part : simulation.parts()) {
      const auto places = simulation.positions(part), velocities = simulation.velocities(part);
      sum += energy_of(places, velocities, split.place_of(part), deadline);
      if (is_end) add_momentum(places, velocities, split.place_of(part), found);
    }
    return sum;
  };
  simulation.restart(deadline);
  found.energy_before = energy(false);
  simulation.run(1, {step_seconds / 2, step_seconds}, deadline);
  simulation.run(steps - 1, {}, deadline);
  simulation.run(1, {step_seconds / 2, 0}, deadline);
  found.energy_after = energy(true);
  return found;
}

std::optional<std::string> why_wrong(const Findings& found, const NbodyCase& prepared, bool with_drift) {
  std::ostringstream why;
  const double momentum = length(found.momentum[0], found.momentum[1], found.momentum[2]);
  const double tolerated = tolerated_momentum(prepared.precision, prepared.bodies);
  const double drift = std::abs(found.energy_after / found.energy_before - 1);
  if (found.wrong > 0)
    why << found.wrong << " of " << found.compared << " accelerations are wrong; the largest error is " << found.worst
        << " times the tolerance";
  else if (!with_drift && (found.compared == 0 || found.devices != static_cast<std::uint64_t>(prepared.devices)))
    why << "only " << found.devices << " devices were compared";
  else if (!with_drift && found.least_digest != found.most_digest)
    why << "the devices have different positions";
  else if (!(momentum <= tolerated * found.momentum_scale))
    why << "the relative momentum is " << momentum / found.momentum_scale << ", larger than the tolerance "
        << tolerated;
  else if (with_drift && !(drift <= tolerated_drift(prepared.precision)))
    why << "the energy changed by " << drift << ", more than the tolerance " << tolerated_drift(prepared.precision);
  if (why.str().empty()) return std::nullopt;
  why << " (" << prepared.bodies << " bodies on " << prepared.devices
      << (prepared.devices == 1 ? " device)" : " devices)");
  return why.str();
}

}  // namespace linkmatrix
