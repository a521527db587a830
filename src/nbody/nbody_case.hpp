#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/words.hpp"

namespace linkmatrix {

enum class Precision { f32, f64 };

/// Type of scaling. strong: constant total number of bodies. weak: constant number of bodies per device.
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

/// A number of bodies on a number of devices. Trivially copyable: ranks of one build send it as bytes.
struct NbodyCase {
  Precision precision = Precision::f32;
  std::uint64_t bodies = 0;
  int devices = 1;
};

/// Returns the bytes of a position with mass.
constexpr std::uint64_t bytes_of_body(Precision precision) { return precision == Precision::f32 ? 16 : 32; }

/// Returns the operations per interaction, as in nbody of the CUDA samples. Square root and division count more in
/// double precision.
constexpr double flop_of_interaction(Precision precision) { return precision == Precision::f32 ? 20 : 30; }

/// Returns the operations of one step: every body with every body, including itself.
constexpr double flop_of_step(const NbodyCase& wanted) {
  const auto bodies = static_cast<double>(wanted.bodies);
  return bodies * bodies * flop_of_interaction(wanted.precision);
}

}  // namespace linkmatrix
