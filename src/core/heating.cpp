#include "core/heating.hpp"

#include <algorithm>
#include <bit>

namespace linkmatrix {

std::vector<float> heating_matrix(int matrix, std::uint32_t n) {
  std::vector<float> elements(std::size_t{n} * n);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = heating_element(matrix, i);
  return elements;
}

void multiply(const std::vector<float>& a, const std::vector<float>& b, std::uint32_t n, std::vector<float>& product) {
  product.assign(std::size_t{n} * n, 0);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t k = 0; k < n; ++k) {
      const float factor = a[row * n + k];
      for (std::size_t column = 0; column < n; ++column) product[row * n + column] += factor * b[k * n + column];
    }
}

std::uint64_t product_checksum(const std::vector<float>& product) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < product.size(); ++i) sum += checksum_term(i, std::bit_cast<std::uint32_t>(product[i]));
  return sum;
}

std::uint64_t expected_checksum(std::uint32_t n) {
  std::vector<float> product;
  multiply(heating_matrix(1, n), heating_matrix(2, n), n, product);
  return product_checksum(product);
}

}  // namespace linkmatrix
