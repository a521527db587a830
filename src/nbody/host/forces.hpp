#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "nbody/bodies.hpp"
#include "nbody/either_precision.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Calculates the accelerations of the bodies in slots [begin, end). places: number of slots, whole tiles.
/// accelerations: result, starting with slot `begin`.
template <class T>
void add_forces(const Vector4<T>* positions, std::uint64_t places, std::uint64_t begin, std::uint64_t end,
                Vector4<T>* accelerations);

/// Moves the bodies in slots [begin, end). velocities, accelerations: start with slot `begin`.
template <class T>
void move(const Vector4<T>* before, Vector4<T>* after, std::uint64_t begin, std::uint64_t end, Vector4<T>* velocities,
          const Vector4<T>* accelerations, const Step& step) {
  const T kick = static_cast<T>(step.kick), drift = static_cast<T>(step.drift);
  for (std::uint64_t i = begin; i < end; ++i) {
    Vector4<T>& v = velocities[i - begin];
    const Vector4<T>& a = accelerations[i - begin];
    v.x += a.x * kick, v.y += a.y * kick, v.z += a.z * kick;
    const Vector4<T>& x = before[i];
    after[i] = {x.x + v.x * drift, x.y + v.y * drift, x.z + v.z * drift, x.w};
  }
}

/// A part of a simulation in host memory. It has two buffers with all positions: input and output of a step.
template <class T>
struct HostPart {
  using Bodies = std::unique_ptr<Vector4<T>[]>;

  std::array<Bodies, 2> positions;
  Bodies velocities, accelerations;

  /// Allocates memory and sets the initial state. Called by the computing thread, so that pages are on its NUMA node.
  void begin(const Split& split, int part) {
    const auto room = [](Bodies& bodies, std::uint64_t count) {
      if (!bodies) bodies = std::make_unique<Vector4<T>[]>(count);
    };
    for (Bodies& bodies : positions) {
      room(bodies, split.places());
      for (int p = 0; p < split.parts(); ++p) put_first_positions(split, p, bodies.get());
    }
    room(velocities, split.stride()), room(accelerations, split.stride());
    std::fill_n(velocities.get(), split.count(part), Vector4<T>{});
  }
};

/// Returns the bytes of host memory that `parts` parts need.
std::uint64_t host_bytes(const NbodyCase& wanted, int parts);

/// Throws BadInput if less host memory is available.
void refuse_too_many_bodies(const NbodyCase& wanted, int parts);

/// Makes a step of the bodies [begin, end) of part `number`, in batches. odd: whether the input is buffer 1. Throws
/// TimedOut after the deadline.
template <class T>
void advance(HostPart<T>& part, const Split& split, int number, std::uint64_t begin, std::uint64_t end, bool odd,
             const Step& step, Deadline deadline) {
  constexpr std::uint64_t at_once = 64;
  const std::uint64_t place = split.place_of(number);
  for (std::uint64_t i = begin; i < end; i += at_once) {
    if (deadline.passed()) throw TimedOut("the step did not finish in time");
    const std::uint64_t stop = std::min(i + at_once, end);
    const Vector4<T>* const now = part.positions[odd].get();
    add_forces(now, split.places(), place + i, place + stop, part.accelerations.get() + i);
    move(now, part.positions[!odd].get(), place + i, place + stop, part.velocities.get() + i,
         part.accelerations.get() + i, step);
  }
}

}  // namespace linkmatrix
