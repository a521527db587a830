#pragma once

#include <cstddef>
#include <vector>

namespace linkmatrix {

/// A dense matrix, row-major. Rows are sources, columns are destinations. Element access throws std::out_of_range.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(std::size_t rows, std::size_t columns, T fill = T{})
      : columns_{columns}, cells_(rows * columns, std::move(fill)) {}

  std::size_t rows() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  std::size_t columns() const { return columns_; }
  bool empty() const { return cells_.empty(); }

  decltype(auto) operator()(std::size_t row, std::size_t column) { return cells_.at(row * columns_ + column); }
  decltype(auto) operator()(std::size_t row, std::size_t column) const { return cells_.at(row * columns_ + column); }

  auto begin() const { return cells_.begin(); }
  auto end() const { return cells_.end(); }

 private:
  std::size_t columns_ = 0;
  std::vector<T> cells_;
};

}  // namespace linkmatrix
