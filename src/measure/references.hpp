#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/matrix.hpp"
#include "core/result.hpp"

namespace linkmatrix {

/// What cells should be by a site's references, so that those which are worse than theirs are measured again. Nothing
/// is judged by them here.
class References {
 public:
  /// Of lines "TESTCASE NAME VALUE UNIT", separated by tabs: the name is "gpu0->gpu1", "rank0->rank1" or
  /// "node0->node1" for a cell, or "cell[NV18]" for all of a link class that have none. Throws BadInput naming the
  /// line.
  static References parse(std::string_view text);
  /// The same of a file. Throws BadInput naming it.
  static References read(const std::filesystem::path& file);

  /// The value of each cell of a matrix; nothing for a cell without a reference, or with one in another unit.
  Matrix<std::optional<double>> of(const MatrixDescription& matrix) const;

 private:
  struct Value {
    double value;
    std::string unit;
  };
  std::map<std::string, std::map<std::string, Value>, std::less<>> of_testcase_;
};

}  // namespace linkmatrix
