#pragma once

#include <cstdint>
#include <vector>

#include "core/pattern.hpp"

namespace linkmatrix {

/// What devices are heated with: products of two matrices of small whole numbers, which every order of summation gives
/// exactly in single precision (n · 7² < 2²⁴), so that each result is known to the last bit on any device.

/// Element `index` of the first or second matrix, row by row.
LINKMATRIX_HOST_DEVICE constexpr float heating_element(int matrix, std::uint64_t index) {
  return static_cast<float>(pattern_word(static_cast<std::uint64_t>(matrix), index) & 7);
}

/// What the element of a product, by its bits, adds to the product's sum, whatever the order: a changed bit changes it.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t heating_share(std::uint64_t index, std::uint32_t bits) {
  return (std::uint64_t{bits} + 1) * (pattern_word(3, index) | 1);
}

/// n × n, row by row.
std::vector<float> heating_matrix(int matrix, std::uint32_t n);
void multiply(const std::vector<float>& a, const std::vector<float>& b, std::uint32_t n, std::vector<float>& product);
std::uint64_t sum_of_bits(const std::vector<float>& product);

/// The sum that every product must have.
std::uint64_t expected_sum(std::uint32_t n);

/// What one device calculated while it was heated.
struct Heated {
  int endpoint = 0;
  std::uint64_t products = 0, wrong = 0;  ///< wrong: of which a bit is not what it must be
};

}  // namespace linkmatrix
