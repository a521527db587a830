#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/words.hpp"

namespace linkmatrix {

enum class Precision { f32, f64 };

/// What grows with the number of devices: nothing, so that each has fewer bodies, or the bodies, so that each has as
/// many as one device alone.
enum class Scaling { strong, weak };

template <>
struct Words<Precision> {
  static constexpr std::string_view name = "precision";
  static constexpr std::array table{std::pair{Precision::f32, "float"}, std::pair{Precision::f64, "double"}};
};
template <>
struct Words<Scaling> {
  static constexpr std::string_view name = "scaling";
  static constexpr std::array table{std::pair{Scaling::strong, "strong"}, std::pair{Scaling::weak, "weak"}};
};

/// One number of bodies on one number of devices: plain data, sent as bytes between the ranks of one build.
struct NbodyCase {
  Precision precision = Precision::f32;
  std::uint64_t bodies = 0;
  int devices = 1;
};

/// Of a position with its mass, which is what devices exchange.
constexpr std::uint64_t bytes_of_body(Precision precision) { return precision == Precision::f32 ? 16 : 32; }

/// Operations that an interaction counts for, as in the CUDA samples' nbody: a square root and a division count more in
/// double precision.
constexpr double flop_of_interaction(Precision precision) { return precision == Precision::f32 ? 20 : 30; }

/// Of one step: every body with every body, itself among them.
constexpr double flop_of_step(const NbodyCase& wanted) {
  const auto bodies = static_cast<double>(wanted.bodies);
  return bodies * bodies * flop_of_interaction(wanted.precision);
}

}  // namespace linkmatrix
