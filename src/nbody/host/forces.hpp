#pragma once

#include <cstdint>

#include "nbody/bodies.hpp"
#include "nbody/simulation.hpp"

namespace linkmatrix {

/// Accelerations of the bodies [begin, end) of `places` positions, which are whole tiles.
template <class T>
void add_forces(const Vector4<T>* positions, std::uint64_t places, std::uint64_t begin, std::uint64_t end,
                Vector4<T>* accelerations);

/// Moves the bodies [begin, end): `velocities` and `accelerations` are theirs alone.
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

}  // namespace linkmatrix
