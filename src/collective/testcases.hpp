#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collective/layout.hpp"

namespace linkmatrix {

/// Type of component that is excluded in turn. If the other ranks are faster without a component, it is slow.
enum class LeftOut {
  none,
  rank,  ///< each rank
  node,  ///< all ranks of each node
  rail,  ///< the ranks with each number on their nodes, which share the adapters of a rail
  half,  ///< for each binary digit of the rank number: ranks with 1, then ranks with 0 (few columns for many ranks)
};

/// One column with its excluded ranks.
struct Subset {
  std::string column;  ///< "without-gpu3", "without-n1", "without-rail2", "digit1-is-0"
  RankSet excluded;
};

/// Returns the columns for a type of component; empty if needs() is not met. labels, nodes: label and node name of each
/// rank.
std::vector<Subset> subsets_of(LeftOut excluded, const std::vector<std::string>& labels,
                               const std::vector<std::string>& nodes);

/// Returns the requirement for excluding components: "3 ranks or more".
std::string_view needs(LeftOut excluded);

/// A collective with an algorithm. Its name is the program of nccl-tests, "all_reduce_perf", followed by a forced
/// algorithm: "all_reduce_perf_tree". Collective::send measures a matrix of all ordered pairs, one pair at a time.
struct CollectiveTestCase {
  std::string name;
  Collective collective;
  std::string_view algorithm;       ///< in the spelling of the library, "Tree"; empty: chosen by the library
  LeftOut without = LeftOut::none;  ///< excluded components; none: the columns are out of place and in place
  std::string description;
};

const std::vector<CollectiveTestCase>& collective_testcases();

/// Returns the text of --list.
std::string collective_list();

/// Returns the test cases of "NAME[,NAME…]". Throws BadInput for a duplicate or unknown name, with the nearest known
/// one.
std::vector<CollectiveTestCase> named_collectives(std::string_view names);

/// Returns the test cases of a suite. quick: all-reduce. full: every collective, all-reduce by ring, by tree and
/// without each rank, node and rail, and the matrix of sends. Throws BadInput for another name.
std::vector<CollectiveTestCase> collective_suite(std::string_view name);

/// Returns the options of a case that differ from the defaults: "double, max, root 1"; "" for the defaults. Only
/// results with the same text are comparable.
std::string setting_of(const CollectiveCase& wanted);

}  // namespace linkmatrix
