#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"

namespace linkmatrix {

/// Figures of one size, out of place or in place.
struct CollectiveFigures {
  double microseconds, algorithm_bandwidth, bus_bandwidth;
  std::optional<std::uint64_t> wrong;  ///< wrong elements; nothing: not compared
};

/// One line for one size, as in nccl-tests.
struct CollectiveLine {
  CollectiveCase wanted;
  Layout layout;
  std::optional<CollectiveFigures> out_of_place, in_place;  ///< nothing: not available or not measured
};

/// Returns the lines in the layout of nccl-tests, for its parsers.
std::string collective_table(const std::string& testcase, const std::vector<CollectiveLine>& lines);

}  // namespace linkmatrix
