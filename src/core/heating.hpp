#pragma once

#include <cstdint>
#include <vector>

#include "core/pattern.hpp"

namespace linkmatrix {

// Heating (--soak): devices multiply two n × n matrices of whole numbers from 0 to 7. Single precision is exact for
// every order of summation if n · 7² < 2²⁴. Every device therefore computes the same bits.

/// Returns element `index` (row-major) of the first (matrix = 0) or second (matrix = 1) matrix.
LINKMATRIX_HOST_DEVICE constexpr float heating_element(int matrix, std::uint64_t index) {
  return static_cast<float>(pattern_word(static_cast<std::uint64_t>(matrix), index) & 7);
}

/// Returns the term of one product element in the checksum, which is the sum of all terms. index: position (row-major).
/// bits: the element's float as an integer. A single changed bit changes the checksum.
LINKMATRIX_HOST_DEVICE constexpr std::uint64_t checksum_term(std::uint64_t index, std::uint32_t bits) {
  return (std::uint64_t{bits} + 1) * (pattern_word(3, index) | 1);
}

/// Returns a matrix of n × n elements, row-major.
std::vector<float> heating_matrix(int matrix, std::uint32_t n);
/// Multiplies two n × n matrices. product: n × n elements, overwritten.
void multiply(const std::vector<float>& a, const std::vector<float>& b, std::uint32_t n, std::vector<float>& product);
/// Returns the checksum of a computed product.
std::uint64_t product_checksum(const std::vector<float>& product);

/// Returns the checksum of the correct product of two n × n matrices.
std::uint64_t expected_checksum(std::uint32_t n);

/// Result of heating one device.
struct Heated {
  int endpoint = 0;                       ///< index of the device in Machine::endpoints()
  std::uint64_t products = 0, wrong = 0;  ///< matrix products, and products with a wrong checksum
};

}  // namespace linkmatrix
