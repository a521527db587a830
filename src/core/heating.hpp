#pragma once

#include <cstdint>
#include <vector>

#include "core/pattern.hpp"

namespace linkmatrix {

/// Heating: devices multiply two matrices of small whole numbers. Single precision is exact for every order of
/// summation (n · 7² < 2²⁴), so each result is known to the last bit on any device.

/// Returns element `index`, row by row, of the first (0) or second (1) matrix.
LINKMATRIX_HOST_DEVICE constexpr float heating_element(int matrix, std::uint64_t index) {
  return static_cast<float>(pattern_word(static_cast<std::uint64_t>(matrix), index) & 7);
}

/// Returns the contribution of one element of the product to a checksum that does not depend on the order. A changed
/// bit changes the checksum.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t heating_share(std::uint64_t index, std::uint32_t bits) {
  return (std::uint64_t{bits} + 1) * (pattern_word(3, index) | 1);
}

/// Returns a matrix of n × n elements, row by row.
std::vector<float> heating_matrix(int matrix, std::uint32_t n);
void multiply(const std::vector<float>& a, const std::vector<float>& b, std::uint32_t n, std::vector<float>& product);
std::uint64_t sum_of_bits(const std::vector<float>& product);

/// Returns the checksum of a correct product.
std::uint64_t expected_sum(std::uint32_t n);

/// Result of heating one device.
struct Heated {
  int endpoint = 0;
  std::uint64_t products = 0, wrong = 0;  ///< number of products; number of products with a wrong bit
};

}  // namespace linkmatrix
