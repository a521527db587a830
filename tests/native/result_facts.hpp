#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace linkmatrix {

/// Returns whether a note of the result contains a text.
inline bool has_note(const MatrixResult& result, std::string_view text) {
  return std::ranges::any_of(result.notes,
                             [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

/// Returns all short samples of a cell, in the order of time.
inline std::vector<double> short_samples(const MatrixResult& result, std::size_t row, std::size_t column) {
  std::vector<double> all;
  for (const auto& pass : result.short_samples->passes)
    all.insert(all.end(), pass.values(row, column).begin(), pass.values(row, column).end());
  return all;
}

/// Returns the complete and verified result of a test case of two GPUs.
inline MatrixResult measured(const std::string& testcase) {
  MatrixResult result;
  result.testcase = testcase;
  result.set_labels({"gpu0", "gpu1"}, {"gpu0", "gpu1"});
  result.status(0, 1) = result.status(1, 0) = CellStatus::ok;
  result.values(0, 1) = result.values(1, 0) = 100;
  result.cells_verified = 2;
  return result;
}

}  // namespace linkmatrix
