#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collective/layout.hpp"
#include "collective/subsets.hpp"

namespace linkmatrix {

/// A collective by an algorithm, as it is named on the command line and in the record: as nccl-tests names its
/// programs, "all_reduce_perf", and what is forced after it, "all_reduce_perf_tree". Of Collective::send all ordered
/// pairs are measured, one after the other: the matrix that p2p_matrix has of copies, as the library moves the bytes.
struct CollectiveTestCase {
  std::string name;
  Collective collective;
  std::string_view algorithm;         ///< in the library's spelling, "Tree"; empty: its own choice
  LeftOut without = LeftOut::nobody;  ///< out of place without each of them, instead of in place and out of place
  std::string description;
};

const std::vector<CollectiveTestCase>& collective_testcases();

/// Their names and descriptions, for --list.
std::string collective_list();

/// Those of "NAME[,NAME…]", each once. Throws BadInput for an unknown one, naming the nearest.
std::vector<CollectiveTestCase> named_collectives(std::string_view names);

/// "quick": all-reduce; "full": every collective by the library's own choice, all-reduce by ring and by tree and
/// without each rank, node and rail, and the matrix of sends. Throws BadInput for another name.
std::vector<CollectiveTestCase> collective_suite(std::string_view name);

/// What a case was asked for beyond its name and size, as far as it is not the usual: "double, max, root 1"; such
/// figures are no measure of others.
std::string setting_of(const CollectiveCase& wanted);

}  // namespace linkmatrix
