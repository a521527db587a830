#pragma once

#include <cstdint>

namespace linkmatrix {

/// A position with its mass, or a velocity, as devices hold it: read as a whole.
template <class T>
struct alignas(4 * sizeof(T)) Vector4 {
  T x, y, z, w;
};

/// Seconds of a step and the square of the softening length, both a power of two: a velocity is what it was gained by,
/// times the step, exactly.
constexpr double step_seconds = 1.0 / 1024;
constexpr double softening_squared = 1.0 / 512;

/// The first position of a body among so many: in a cube of side 2, pseudo-random by its number, all at rest; the
/// masses differ and are 1 together, about. Every value is one of the type.
template <class T>
Vector4<T> first_position(std::uint64_t number, std::uint64_t bodies) {
  const auto mix = [](std::uint64_t word) {  // splitmix64
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  };
  const auto fraction = [&](std::uint64_t which) {  // 0 to 1, in steps that a float has
    return static_cast<double>(mix(4 * number + which) >> 41) / static_cast<double>(1 << 23);
  };
  const auto side = [&](std::uint64_t which) { return static_cast<T>(2 * fraction(which) - 1); };
  return {side(0), side(1), side(2), static_cast<T>((0.5 + fraction(3)) / static_cast<double>(bodies))};
}

}  // namespace linkmatrix
