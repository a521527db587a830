#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/matrix.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// Expected values of cells (--references). Worse cells are measured again. The program's result does not depend on
/// these values.
class References {
 public:
  /// Parses lines with TESTCASE, NAME, VALUE and UNIT, separated by tabs. NAME is one of:
  ///
  /// - a cell: "gpu0->gpu1", "rank0->rank1" or "node0->node1"
  /// - "cell[NV18]": all cells of a link class that have no line of their own
  ///
  /// Throws BadInput naming the line.
  static References parse(std::string_view text);
  /// Parses a file. Throws BadInput naming the file and the line.
  static References read(const std::filesystem::path& file);

  /// Returns the expected value of each cell; nothing for a cell without a reference in the unit of the matrix.
  Matrix<std::optional<double>> values_for(const MatrixDescription& matrix) const;

 private:
  struct Value {
    double value;
    std::string unit;
  };
  std::map<std::string, std::map<std::string, Value>, std::less<>> testcases_;  ///< values by test case and name
};

}  // namespace linkmatrix
