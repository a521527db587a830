#pragma once

#include <cstdint>

namespace linkmatrix {

/// A position (x, y, z) with mass w, or a velocity (w unused). Aligned for vector loads of GPUs.
template <class T>
struct alignas(4 * sizeof(T)) Vector4 {
  T x, y, z, w;
};

/// Time step in seconds, and square of the softening length. Powers of two, so that products with them are exact.
constexpr double step_seconds = 1.0 / 1024;
constexpr double softening_squared = 1.0 / 512;

/// Returns the initial position of body `number` of `bodies`: pseudo-random in a cube with side 2. Masses differ and
/// sum to about 1. Both types represent every value exactly.
template <class T>
Vector4<T> first_position(std::uint64_t number, std::uint64_t bodies) {
  const auto mix = [](std::uint64_t word) {  // splitmix64
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  };
  const auto fraction = [&](std::uint64_t which) {  // from 0 to 1 in steps of 2⁻²³
    return static_cast<double>(mix(4 * number + which) >> 41) / static_cast<double>(1 << 23);
  };
  const auto side = [&](std::uint64_t which) { return static_cast<T>(2 * fraction(which) - 1); };
  return {side(0), side(1), side(2), static_cast<T>((0.5 + fraction(3)) / static_cast<double>(bodies))};
}

}  // namespace linkmatrix
