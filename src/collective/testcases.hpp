#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collective/layout.hpp"
#include "collective/subsets.hpp"

namespace linkmatrix {

/// A collective with an algorithm. Its name is that of nccl-tests, "all_reduce_perf", followed by a forced algorithm,
/// "all_reduce_perf_tree". For Collective::send, all ordered pairs are measured serially as a matrix, comparable with
/// the copies of p2p_matrix.
struct CollectiveTestCase {
  std::string name;
  Collective collective;
  std::string_view algorithm;  ///< in the spelling of the library, "Tree"; empty: chosen by the library
  LeftOut without =
      LeftOut::nobody;  ///< excluded component; columns are the exclusions instead of in place and out of place
  std::string description;
};

const std::vector<CollectiveTestCase>& collective_testcases();

/// Returns the text of --list.
std::string collective_list();

/// Returns the test cases of "NAME[,NAME…]". Throws BadInput for a duplicate or unknown name, with the nearest known
/// one.
std::vector<CollectiveTestCase> named_collectives(std::string_view names);

/// Returns the test cases of a suite. "quick": all-reduce. "full": every collective with the library's algorithm,
/// all-reduce by ring, by tree and without each rank, node and rail, and the matrix of sends. Throws BadInput for
/// another name.
std::vector<CollectiveTestCase> collective_suite(std::string_view name);

/// Returns the options of a case that differ from the defaults: "double, max, root 1". Figures with such options are
/// not comparable with others.
std::string setting_of(const CollectiveCase& wanted);

}  // namespace linkmatrix
