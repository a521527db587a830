#pragma once

#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

/// All short samples of a cell, in the order of time.
inline std::vector<double> short_samples(const MatrixResult& result, std::size_t row, std::size_t column) {
  std::vector<double> all;
  for (const auto& pass : result.short_samples->passes)
    all.insert(all.end(), pass.values(row, column).begin(), pass.values(row, column).end());
  return all;
}

}  // namespace linkmatrix
