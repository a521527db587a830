#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/layout.hpp"

namespace linkmatrix {

/// One way of one size.
struct CollectiveFigures {
  double microseconds, algorithm_bandwidth, bus_bandwidth;
  std::optional<std::uint64_t> wrong;  ///< elements; nothing: not compared
};

/// One size, as nccl-tests prints it.
struct CollectiveLine {
  CollectiveCase wanted;
  Layout layout;
  std::optional<CollectiveFigures> out_of_place, in_place;  ///< nothing: it has none, or could not be measured
};

/// The lines in the layout of nccl-tests, so that what reads its tables reads these.
std::string collective_table(const std::string& testcase, const std::vector<CollectiveLine>& lines);

}  // namespace linkmatrix
