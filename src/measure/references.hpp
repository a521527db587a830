#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/matrix.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// Expected values of cells. Cells that are worse are measured again. No verdict depends on these values.
class References {
 public:
  /// Parses lines of TESTCASE, NAME, VALUE and UNIT, separated by tabs. NAME is a cell, "gpu0->gpu1", "rank0->rank1" or
  /// "node0->node1", or "cell[NV18]" for all other cells of a link class. Throws BadInput naming the line.
  static References parse(std::string_view text);
  /// Parses a file. Throws BadInput naming the file.
  static References read(const std::filesystem::path& file);

  /// Returns the expected value of each cell; nothing for a cell without a reference in the unit of the matrix.
  Matrix<std::optional<double>> of(const MatrixDescription& matrix) const;

 private:
  struct Value {
    double value;
    std::string unit;
  };
  std::map<std::string, std::map<std::string, Value>, std::less<>> of_testcase_;
};

}  // namespace linkmatrix
