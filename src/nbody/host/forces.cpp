#include "nbody/host/forces.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "core/units.hpp"
#include "device/host/memory.hpp"
#include "nbody/split.hpp"

namespace linkmatrix {
namespace {

constexpr std::size_t bodies_at_once = 16;  // their sums fit into registers and L1 cache

template <class T>
using Lanes = std::array<T, bodies_at_once>;

template <class T>
struct Sums {
  Lanes<T> x{}, y{}, z{};
};

/// Adds the forces of one tile's bodies on bodies_at_once bodies.
template <class T>
void add_tile(const Vector4<T>* tile, const Sums<T>& at, Sums<T>& sums) {
  for (std::uint64_t j = 0; j < bodies_of_tile; ++j) {
    const Vector4<T> other = tile[j];
    for (std::size_t i = 0; i < bodies_at_once; ++i) {
      const T dx = other.x - at.x[i], dy = other.y - at.y[i], dz = other.z - at.z[i];
      const T squared = dx * dx + dy * dy + dz * dz + static_cast<T>(softening_squared);
      const T share = other.w / (squared * std::sqrt(squared));
      sums.x[i] += dx * share, sums.y[i] += dy * share, sums.z[i] += dz * share;
    }
  }
}

}  // namespace

template <class T>
void add_forces(const Vector4<T>* positions, std::uint64_t places, std::uint64_t begin, std::uint64_t end,
                Vector4<T>* accelerations) {
  for (std::uint64_t first = begin; first < end; first += bodies_at_once) {
    Sums<T> at, all;
    for (std::size_t i = 0; i < bodies_at_once; ++i) {
      const Vector4<T>& own = positions[std::min(first + i, end - 1)];
      at.x[i] = own.x, at.y[i] = own.y, at.z[i] = own.z;
    }
    for (std::uint64_t tile = 0; tile < places; tile += bodies_of_tile) {
      Sums<T> sums;  // sums of one tile, because sums of sums have smaller rounding errors
      add_tile(positions + tile, at, sums);
      for (std::size_t i = 0; i < bodies_at_once; ++i)
        all.x[i] += sums.x[i], all.y[i] += sums.y[i], all.z[i] += sums.z[i];
    }
    for (std::size_t i = 0; i < bodies_at_once && first + i < end; ++i)
      accelerations[first + i - begin] = {all.x[i], all.y[i], all.z[i], 0};
  }
}

template void add_forces(const Vector4<float>*, std::uint64_t, std::uint64_t, std::uint64_t, Vector4<float>*);
template void add_forces(const Vector4<double>*, std::uint64_t, std::uint64_t, std::uint64_t, Vector4<double>*);

std::uint64_t host_bytes(const NbodyCase& wanted, int parts) {
  const Split split(wanted.bodies, wanted.devices);
  return static_cast<std::uint64_t>(parts) * 2 * (split.places() + split.stride()) * bytes_of_body(wanted.precision);
}

void refuse_too_many_bodies(const NbodyCase& wanted, int parts) {
  const std::uint64_t bytes = host_bytes(wanted, parts);
  if (bytes > available_memory())
    throw BadInput("--bodies: " + std::to_string(wanted.bodies) + " bodies need " + std::to_string(bytes / MiB) +
                   " MiB of host memory, but only " + std::to_string(available_memory() / MiB) +
                   " MiB are available: use fewer --bodies");
}

}  // namespace linkmatrix
