#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"

namespace linkmatrix {

/// Result of one size, out of place or in place. Bandwidths in GB/s.
struct CollectiveFigures {
  double microseconds, algorithm_bandwidth, bus_bandwidth;
  std::optional<std::uint64_t> wrong;  ///< wrong elements; nothing: not compared
};

/// One line of the table: the results of one size.
struct CollectiveLine {
  CollectiveCase wanted;
  Layout layout;
  std::optional<CollectiveFigures> out_of_place, in_place;  ///< nothing: not available or not measured
};

/// Returns a table in the format of nccl-tests, so that parsers of nccl-tests can read it.
std::string collective_table(const std::string& testcase, const std::vector<CollectiveLine>& lines);

}  // namespace linkmatrix
